"""Every finding code once: title, cause and advice, in English and Chinese, as TOML."""
