"""Task templates: XML in, a validated value or every problem out; the shipped ones lie here."""
