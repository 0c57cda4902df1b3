# SPDX-License-Identifier: GPL-2.0-or-later
"""Ranks of Open MPI and MPICH, and programs that have them."""

from case import Case, V

OMPI = "mpirun.openmpi --oversubscribe --bind-to none -n %d "
MPICH = "mpirun.mpich -n %d "
HALO = "mpicc.openmpi -O2 -o halo $P/halo.c"
HALO_MPICH = "mpicc.mpich -O2 -o halo $P/halo.c"
BALANCE = "[Bb]alanc|equal|evenly|distribut|started in parallel"
FEWER = "rank per core|more ranks than cores|mpirun -n 2|no more"

MELT = """cat >in.melt <<END
units lj
atom_style atomic
processors 2 1 1
lattice fcc 0.8442
region box block 0 24 0 16 0 16
create_box 1 box
region some block 0 12 0 16 0 16
create_atoms 1 region some
mass 1 1.0
velocity all create 1.44 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
fix 1 all nve
if "\\$b == 1" then "balance 1.05 shift x 20 1.02"
run [[300]]
END
sed '/processors/d; /^region some/d; s/region some/box/; /^if/d; s/0 24/0 16/' in.melt >in.full"""
LMP = "lmp -log none -in "

HPCC = """sed -e '6s/^[0-9]*/3000/' -e '11s/^[0-9]*/1/' -e '12s/^[0-9]*/2/' /usr/share/doc/hpcc/examples/_hpccinf.txt >hpccinf.txt"""

GMX = """cp /usr/share/gromacs/top/spc216.gro .
printf '#include "oplsaa.ff/forcefield.itp"\\n#include "oplsaa.ff/spce.itp"\\n[ system ]\\nwater\\n[ molecules ]\\n' >topol.top
gmx -quiet solvate -cs spc216.gro -box 3 3 3 -p topol.top -o water.gro
printf 'integrator = md\\nnsteps = [[1500]]\\ncoulombtype = PME\\ntcoupl = v-rescale\\ntc-grps = System\\ntau-t = 0.1\\nref-t = 300\\ngen-vel = yes\\n' >md.mdp
gmx -quiet grompp -f md.mdp -c water.gro -p topol.top -o md.tpr -maxwarn 5"""
MDRUN = "gmx -quiet mdrun -s md.tpr -ntmpi 1 -pin off -ntomp %d"

NWCHEM = """printf 'start w\\nmemory 400 mb\\ngeometry\\n O 0 0 0.1\\n H 0 0.76 -0.48\\n H 0 -0.76 -0.48\\nend\\nbasis\\n * library 6-311g**\\nend\\ntask mp2 gradient\\ntask scf hessian\\n' >w.nw"""

CASES = (
    Case("openmpi 3 to 1", "mpicc.openmpi mpirun.openmpi", HALO,
         sick=OMPI % 2 + "./halo [[60]] 900 3", mended=OMPI % 2 + "./halo [[120]] 900", rules="mpi.imbalance|mpi.straggler", remedy=BALANCE),
    Case("mpich 3 to 1", "mpicc.mpich mpirun.mpich", HALO_MPICH,
         sick=MPICH % 2 + "./halo [[60]] 900 3", mended=MPICH % 2 + "./halo [[120]] 900", rules="mpi.imbalance|mpi.straggler", remedy=BALANCE),
    Case("lammps half a box", "mpirun.openmpi lmp", MELT,
         sick=OMPI % 2 + LMP + "in.melt -var b 0", mended=OMPI % 2 + LMP + "in.melt -var b 1",
         rules="mpi.imbalance|mpi.straggler", remedy=BALANCE),
    Case("lammps 8 ranks", "mpirun.openmpi lmp", MELT,
         sick=OMPI % 8 + LMP + "in.full", mended=OMPI % 2 + LMP + "in.full",
         rules="cpu.oversubscribed|cpu.spin_yield", remedy=FEWER),
    Case("lammps on a core", "mpirun.openmpi lmp taskset", MELT,
         sick=OMPI % 2 + "taskset -c 0 " + LMP + "in.full", mended=OMPI % 2 + LMP + "in.full",
         rules="cpu.stacked", remedy="bind-to none|taskset"),
    Case("lammps serial", "lmp", MELT,
         sick=LMP + "in.full", mended=OMPI % 2 + LMP + "in.full", rules="cpu.serial", remedy="mpirun"),
    Case("mpich 6 ranks", "mpicc.mpich mpirun.mpich", HALO_MPICH,
         sick=MPICH % 6 + "./halo [[120]] 500", mended=MPICH % 2 + "./halo [[360]] 500",
         rules="cpu.oversubscribed|cpu.spin_yield", remedy=FEWER),
    Case("openmpi binds threads", "gcc mpirun.openmpi", "gcc -O2 -fopenmp -o loops $P/loops.c",
         sick="OMP_NUM_THREADS=2 mpirun.openmpi -n 1 ./loops [[280]] 262144",
         mended="OMP_NUM_THREADS=2 mpirun.openmpi --bind-to none -n 1 ./loops [[280]] 262144",
         rules="cpu.stacked", remedy="bind-to none"),
    Case("hpcc", "hpcc mpirun.openmpi", HPCC, healthy="OPENBLAS_NUM_THREADS=1 " + OMPI % 2 + "hpcc"),
    Case("gromacs threads", "gmx", GMX,
         sick=MDRUN % 16, mended=MDRUN % 2, rules="cpu.oversubscribed", remedy="OMP_NUM_THREADS=2|no more threads"),
    Case("nwchem", "nwchem mpirun.openmpi", NWCHEM, healthy="OPENBLAS_NUM_THREADS=1 " + OMPI % 2 + "nwchem w.nw"),
    Case("mpi4py rank 0 prepares", "py:mpi4py py:numpy mpirun.openmpi", "",
         sick="OPENBLAS_NUM_THREADS=1 " + OMPI % 2 + "/usr/bin/python3 $P/prepare.py 0 [[14]]",
         mended="OPENBLAS_NUM_THREADS=1 " + OMPI % 2 + "/usr/bin/python3 $P/prepare.py all [[14]]",
         rules="mpi.imbalance|mpi.straggler", remedy=BALANCE),
    Case("mpi4py rank 0 writes", "py:mpi4py py:numpy mpirun.openmpi", "",
         sick="OPENBLAS_NUM_THREADS=1 " + OMPI % 2 + "/usr/bin/python3 $P/dumps.py sync [[60]]",
         mended="OPENBLAS_NUM_THREADS=1 " + OMPI % 2 + "/usr/bin/python3 $P/dumps.py none [[60]]",
         rules="io.one_rank|io.wait", also="mpi.imbalance", remedy="parallel|collective|fsync|asynchronous|all ranks"),
)
