package distribute

// Share is the part that one of several tasks takes of the same input.
type Share struct {
	Index, Count int
	// Whole: a step takes a record for each task, which has one of them to itself.
	// Else it takes one record, whose rows the tasks divide.
	Whole bool
}

// Rows are the rows of a record of n rows that this task takes: from first up to end. Of 128 rows three tasks
// take 43, 43 and 42.
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
