"""The command line: ``ud``, also ``kubectl ud``. Each feature has a package; ``command.py`` declares its commands."""
