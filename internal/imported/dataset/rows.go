package dataset

import "bytes"

// Rows opens a file of comma-separated values. A line end within quotes belongs to the row; empty lines are skipped.
func (f RecordFile) Rows(open Open, quotes bool) (Records, error) {
	s, err := f.open(open)
	if err != nil {
		return nil, err
	}
	return &csvRows{lines{stream: s, returns: KeepReturns}, quotes}, nil
}

type csvRows struct {
	lines
	quotes bool
}

func (r *csvRows) Next() ([]byte, error) {
	for {
		row, err := r.lines.Next()
		if err != nil {
			return nil, err
		}
		for open := r.odd(row); open; {
			more, err := r.lines.Next()
			if err != nil {
				return row, nil // the parser reports the unterminated quote
			}
			open = open != r.odd(more)
			if row = append(append(row, '\n'), more...); int64(len(row)) > r.limit {
				return nil, r.tooLong()
			}
		}
		if row = bytes.TrimSuffix(row, []byte{'\r'}); len(row) > 0 {
			return row, nil
		}
	}
}

// odd reports whether a quote begins or ends in a line.
func (r *csvRows) odd(line []byte) bool { return r.quotes && bytes.Count(line, []byte{'"'})%2 == 1 }
