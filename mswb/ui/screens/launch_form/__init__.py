"""The launch form: ``screen`` what is shown and pressed · ``state`` the state and its changes · ``text`` its words ·
``work`` what runs beside the event loop · ``kept`` presets and history · ``paths`` completion."""

from mswb.ui.screens.launch_form.screen import LaunchForm

__all__ = ["LaunchForm"]
