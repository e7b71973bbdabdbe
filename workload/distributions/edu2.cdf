# University data center EDU2: Benson et al., "Network Traffic Characteristics of Data Centers in the Wild", IMC 2010, as
# tabulated with Lomas (APNet 2022), stats_EDU2/cdf_size.txt
# flow size in bytes, cumulative probability in per cent; a size is drawn by linear interpolation
# mean 1717931 bytes
0 0
62 40
107 45
108 50
186 55
216 60
376 65
570 70
752 73
929 75
1128 77
1284 80
1326 81
1547 82
1796 83
2225 84
2568 85
2868 86
3553 87
4374 88
5350 89
6871 90
9651 91
14091 92
20700 93
35984 94
65550 95
103003 96
137710 97
275420 98
852223 99
340457054 100
