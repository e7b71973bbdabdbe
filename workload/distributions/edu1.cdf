# University data center EDU1: Benson et al., "Network Traffic Characteristics of Data Centers in the Wild", IMC 2010, as
# tabulated with Lomas (APNet 2022), stats_EDU1/cdf_size.txt
# flow size in bytes, cumulative probability in per cent; a size is drawn by linear interpolation
# mean 437317 bytes
0 0
68 1
76 2
86 5
91 10
109 15
130 20
186 25
224 30
367 35
367 40
440 45
447 50
515 55
1038 60
1438 65
1782 70
2190 75
4148 80
8326 85
9445 90
9445 91
9529 92
9529 93
10138 94
12895 95
17438 96
24510 97
44065 98
114040 99
86684378 100
