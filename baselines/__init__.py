"""The methods that KRDA is compared with, each behind the contract of ``krda.base``."""
