package distribute

// Share is one task's part of an input that all tasks read.
type Share struct {
	Index, Count int
	// Whole says that a step takes one record for each task. Otherwise it takes one
	// record, whose rows the tasks divide.
	Whole bool
}

// Rows returns which of a record's n rows this task takes: from first to end-1. Three tasks divide 128 rows into 43,
// 43 and 42.
func (s Share) Rows(n int64) (first, end int64) {
	each, rest := n/int64(s.Count), n%int64(s.Count)
	i := int64(s.Index)
	first = i*each + min(i, rest)
	end = first + each
	if i < rest {
		end++
	}
	return first, end
}
