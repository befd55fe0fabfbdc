"""What every service needs: requests and answers over ASGI, routes, limits, deadlines, metrics and a writer."""
