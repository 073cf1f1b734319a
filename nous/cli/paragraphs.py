"""Help as paragraphs: each wraps where the terminal ends, and not where a line of the source did.

every command of the app, and of the apps in it ─▶ its docstring ─▶ paragraph by paragraph, each a line ─▶ its help
"""

import inspect

import typer


def wrap_at_the_terminal(app: typer.Typer) -> None:
    """Let every command and group of this app have the help of its docstring, each paragraph of it in one line."""
    for command in app.registered_commands:
        if command.callback and command.callback.__doc__:
            command.help = one_line_each(command.callback.__doc__)
    if app.registered_callback and app.registered_callback.callback and app.registered_callback.callback.__doc__:
        app.registered_callback.help = one_line_each(app.registered_callback.callback.__doc__)
    for group in app.registered_groups:
        if group.typer_instance:
            wrap_at_the_terminal(group.typer_instance)


def one_line_each(docstring: str) -> str:
    """The paragraphs of a docstring, each in one line."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in inspect.cleandoc(docstring).split("\n\n"))
