"""Everything that commands print: text and tables for people, JSON and YAML for programs."""
