"""Parameters with which a theory meets targets: ``targets`` says what can be asked for, ``solve`` looks for it."""
