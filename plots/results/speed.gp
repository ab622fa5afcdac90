# SPDX-License-Identifier: MIT
# Draws results/speed.svg: how fast the program is compared with others, on one axis. Marks are the values of
# results/data/speed.csv and of the tables of results/speed.md. From the root of the repository: gnuplot plots/results/speed.gp
# With -e 'png=1', draws build/speed.png instead.

data = 'results/data/speed.csv'
page = 'results/speed.md'
# Lines of speed.csv of one group, as times the speed of the reference, in line y of the picture.
group(name, y) = "< python3 -c 'import csv; [print(float(r[\"speed_pct\"]) / 100, ".y.") for r in csv.DictReader(open(\"" \
    .data."\")) if r[\"group\"] == \"".name."\"]'"
# A column of a table of speed.md, in the lines whose field `key` matches; kind: "times" faster, or "share" of their time.
table(section, key, word, field, kind, y) = "< awk -F'|' '/bench_peers.py, ".section.": begin/ { on = 1 } /end -->/ { on = 0 } on && $" \
    .key." ~ /".word."/ && $".field." + 0 > 0 { print ".(kind eq 'times' ? '' : '1 / ')."($".field." + 0), ".y." }' ".page

set encoding utf8
if (exists('png')) {
    set terminal pngcairo size 900,520 font 'DejaVu Sans,11' noenhanced
    set output 'build/speed.png'
} else {
    set terminal svg size 900,520 font 'DejaVu Sans,11' noenhanced background rgb 'white'
    set output 'results/speed.svg'
}
set title "Speed compared with others (1: as fast, above 1: oocgnn is faster)"
set logscale x
set xrange [0.2:80]
set xtics nomirror ('0.25' 0.25, '0.5' 0.5, '1' 1, '2' 2, '5' 5, '10' 10, '20' 20, '50' 50)
set yrange [0.4:14.6]
set ytics nomirror ('random reads / fio' 14, 'random writes / fio' 13, 'several rings / fio' 12, "reads of systems / fio" 11, \
    'preparing a dataset / fio' 10, "DiskGNN's packing / fio" 9, 'training step / SGEMM peak' 8, 'sampling / DGL, GraphBolt' 7, \
    'GraphSAGE step / PyG, DGL' 6, 'GCN step / PyG, DGL' 5, 'GAT step / PyG, DGL' 4, 'epoch in memory / DGL, GraphBolt' 3, \
    'GNNDrive, cold, 320 MiB / GraphBolt' 2, 'AGNES, cold, 320 MiB / GraphBolt' 1)
set grid xtics linetype 1 linecolor rgb '#dddddd' linewidth 1
set border 3
set lmargin 36
set bmargin 5
set arrow 1 from 1,0.4 to 1,14.6 nohead linewidth 1.5 linecolor rgb '#333333' back
set label 1 'A mark for each configuration. Measured on two cores of an Emerald Rapids with a virtual disk. The axis is logarithmic.' \
    at screen 0.02,0.03 left font ',9' textcolor rgb '#555555'
unset key
io = '#0072B2'; peak = '#D55E00'; libraries = '#009E73'
plot group('random direct reads', 14) with points pointtype 7 linecolor rgb io, \
     group('random direct writes', 13) with points pointtype 7 linecolor rgb io, \
     group('several rings', 12) with points pointtype 7 linecolor rgb io, \
     group('reads of systems', 11) with points pointtype 7 linecolor rgb io, \
     group('preparing', 10) with points pointtype 7 linecolor rgb io, \
     group('packing', 9) with points pointtype 7 linecolor rgb io, \
     group('training step', 8) with points pointtype 5 linecolor rgb peak, \
     for [f=7:8] table('sampling', 2, '[0-9]', f, 'times', 7) with points pointtype 9 linecolor rgb libraries, \
     for [f=8:9] table('steps', 2, 'sage', f, 'share', 6) with points pointtype 9 linecolor rgb libraries, \
     for [f=8:9] table('steps', 2, 'gcn', f, 'share', 5) with points pointtype 9 linecolor rgb libraries, \
     for [f=8:9] table('steps', 2, 'gat', f, 'share', 4) with points pointtype 9 linecolor rgb libraries, \
     for [f=6:7] table('epochs', 2, '[0-9]', f, 'share', 3) with points pointtype 9 linecolor rgb libraries, \
     table('disk', 2, '[0-9]', 6, 'share', 2) with points pointtype 9 linecolor rgb libraries, \
     table('disk', 2, '[0-9]', 7, 'share', 1) with points pointtype 9 linecolor rgb libraries
set output
