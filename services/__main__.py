"""`python -m tocsin.services` is the supervisor, as `ServiceSet` starts it."""

from tocsin.services.supervisor import main

if __name__ == "__main__":
    main()
