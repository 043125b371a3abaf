from experiments.threads import limit_threads

# Before any numerical library is loaded: results and times are those of one thread.
limit_threads()
