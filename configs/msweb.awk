# Makes training examples of the Anonymous Microsoft Web Data (format DST: a line
# C,"user",user and then a line V,area,1 for each area that the user visited). An
# example is what a user visited but for one area, and that area; users of a
# single visit give none.
#
#   zcat anonymous-msweb.data.gz | awk -f configs/msweb.awk > msweb.train.jsonl
#   zcat anonymous-msweb.test.gz | awk -v one=1 -f configs/msweb.awk > msweb.test.jsonl
#
# With one=1 each user gives a single example; otherwise each visit is left out in turn.
BEGIN { FS = "," }
$1 == "C" { user(); id = $3; n = 0 }
$1 == "V" { area[n++] = $2 - 1000 }
END { user() }

function user(    left) {
	if (n < 2)
		return
	for (left = 0; left < n; left++)
		if (!one || left == id % n)
			example(left)
}

# Lists have 35 numbers, -1 where there are no more.
function example(left,    i, list) {
	list = ""
	for (i = 0; i < 36; i++)
		if (i != left)
			list = list (list == "" ? "" : ",") (i < n ? area[i] : -1)
	printf "{\"visited\": [%s], \"hidden\": %d}\n", list, area[left]
}
