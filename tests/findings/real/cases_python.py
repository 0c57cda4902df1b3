# SPDX-License-Identifier: GPL-2.0-or-later
"""Python and its libraries, R and Octave."""

from case import Case, V

PY = "/usr/bin/python3 $P/"
ONE, TWO = "OPENBLAS_NUM_THREADS=1 ", "OPENBLAS_NUM_THREADS=2 "
THREADS = "NUM_THREADS=[12]|no more threads"
LARGER = "larger|chunk|batch"

R_MATRIX = """Rscript -e 'library(parallel); f <- function(k) { a <- matrix(runif(90000), 300); for (i in 1:[[150]]) { a <- a %%*%% a; a <- a / max(abs(a)) } }; r <- mclapply(1:8, f, mc.cores = %d)'"""
R_LIST = """Rscript -e 'library(parallel); c <- makeCluster(2); r <- %s; stopCluster(c)'"""
OCTAVE = """octave-cli --norc --eval '%s'"""

CASES = (
    Case("numpy all at once", "blas:openblas xargs", "",
         sick="seq 8 | xargs -n 1 -P 8 env OPENBLAS_NUM_THREADS=2 " + PY + "matmul.py 300 [[400]]",
         mended="seq 8 | xargs -n 1 -P 2 env OPENBLAS_NUM_THREADS=1 " + PY + "matmul.py 300 [[400]]",
         rules="cpu.oversubscribed", remedy=THREADS),
    Case("numpy one thread", "blas:openblas", "",
         sick=ONE + PY + "matmul.py 1200 [[50]]", mended=TWO + PY + "matmul.py 1200 [[50]]",
         rules="cpu.serial", remedy="OPENBLAS_NUM_THREADS|OMP_NUM_THREADS|parallel version"),
    Case("numpy temporaries", "py:numpy", "",
         sick=ONE + PY + "temporaries.py new [[150]]", mended=ONE + PY + "temporaries.py out [[150]]",
         rules="cpu.system", remedy="fault|alloc|reuse|memory", cpus="0"),
    Case("scipy pool", "py:scipy blas:openblas", "",
         sick=TWO + PY + "solve.py 8 [[160]]", mended=ONE + PY + "solve.py 2 [[160]]",
         rules="cpu.oversubscribed", remedy=THREADS),
    Case("sklearn boosting", "py:sklearn", "",
         sick="OMP_NUM_THREADS=16 " + PY + "boost.py [[12]]", mended="OMP_NUM_THREADS=2 " + PY + "boost.py [[12]]",
         rules="cpu.oversubscribed", remedy="OMP_NUM_THREADS=2"),
    Case("sklearn forest", "py:sklearn", "",
         sick=PY + "forest.py 1 [[90]]", mended=PY + "forest.py 2 [[90]]", rules="cpu.serial", remedy="parallel|jobs|threads"),
    Case("pool of tiny tasks", "py:multiprocessing", "",
         sick=PY + "pool.py [[90000]] 1", mended=PY + "pool.py [[90000]] 2000", rules="sync.fine", remedy=LARGER),
    Case("pool with a tail", "py:multiprocessing", "",
         sick=PY + "tail.py 20 10 [[300000]]", mended=PY + "tail.py 20 1 [[300000]]", rules="cpu.tail|cpu.unused|cpu.serial",
         remedy="tail|balanc|pieces|evenly|distribut|job of its own"),
    Case("joblib tiny tasks", "py:joblib", "",
         sick=PY + "tasks.py 1 [[12000]]", mended=PY + "tasks.py 2000 [[12000]]", rules="sync.fine", remedy=LARGER),
    Case("dask tiny chunks", "py:dask py:numpy", "",
         sick=ONE + PY + "chunks.py 120 [[4]]", mended=ONE + PY + "chunks.py 2000 [[4]]", rules="sync.fine|cpu.serial", remedy=LARGER + "|process"),
    Case("python threads", "py:concurrent", "",
         sick=PY + "gil.py threads [[24]]", mended=PY + "gil.py processes [[24]]", rules="cpu.serial|sync.fine",
         remedy="process|interpreter lock|GIL|parallel version"),
    Case("pandas row by row", "py:pandas", "",
         sick=PY + "frame.py rows [[3000]]", mended=PY + "frame.py all [[3000]]", rules="io.metadata|io.small", remedy="open|buffer|fewer|larger", loss="cpu",
         cpus="0"),
    Case("pandas groups", "py:pandas", "", healthy=PY + "groups.py [[8]]", cpus="0"),
    Case("R threads", "Rscript", "", sick=TWO + R_MATRIX % 8, mended=ONE + R_MATRIX % 2, rules="cpu.oversubscribed", remedy=THREADS),
    Case("R one by one", "Rscript", "",
         sick=R_LIST % "clusterApply(c, 1:[[25000]], function(i) sum(sqrt(1:200)))", mended=R_LIST % "parLapply(c, 1:[[25000]], function(i) sum(sqrt(1:200)))",
         rules="sync.fine", remedy=LARGER),
    Case("R forked", "Rscript", "", healthy="""Rscript -e 'library(parallel); r <- mclapply(1:[[8]], function(i) sum(sort(runif(4e6))), mc.cores = 2)'"""),
    Case("octave commands", "octave-cli", "",
         sick=OCTAVE % 'for i = 1:[[900]], [s, t] = system("basename /a/b.dat"); end', mended=OCTAVE % 'for i = 1:[[900]], [d, t] = fileparts("/a/b.dat"); end',
         rules="proc.forks", remedy="one program|without|start", also="cpu.serial cpu.unused"),
    Case("octave matrix", "octave-cli", "", healthy=TWO + OCTAVE % "a = rand(1200); for i = 1:[[40]], a = a * a; a /= max(abs(a(:))); end"),
)
