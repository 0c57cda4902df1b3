# SPDX-License-Identifier: GPL-2.0-only
"""Ranks of Open MPI and MPICH, and programs that have them."""

from case import Case, V

OMPI = "mpirun.openmpi --bind-to none -n 2 "
MELT = """cat >in.melt <<END
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 24 0 16 0 16
create_box 1 box
region some block 0 12 0 16 0 16
create_atoms 1 region some
mass 1 1.0
velocity all create 1.44 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
processors 2 1 1
fix 1 all nve
if "\\$b == 1" then "balance 1.05 shift x 20 1.02"
run 500
END"""

CASES = (
    Case("lammps half a box", "mpirun.openmpi lmp", MELT,
         sick=OMPI + "lmp -log none -var b 0 -in in.melt", mended=OMPI + "lmp -log none -var b 1 -in in.melt",
         rules="mpi.imbalance|mpi.straggler", remedy="[Bb]alanc|equal|evenly|distribut"),
)
