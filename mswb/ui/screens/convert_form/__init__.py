"""The form of a conversion: ``screen`` what is shown and pressed · ``state`` its values and the command that they are
equal to · ``text`` its words · ``work`` what is looked at beside the event loop."""

from mswb.ui.screens.convert_form.screen import ConvertForm

__all__ = ["ConvertForm"]
