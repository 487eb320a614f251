"""How test tools tell their tests: a module for each form, none of which believes what it reads."""
