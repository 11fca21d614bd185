package inputs

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// origin identifies what a source reads, in addition to its description.
type origin struct {
	files   []string
	options string // options of the reader
}

// origin returns the options that affect the rows.
func (o ArrowOptions) origin() origin {
	o.Allocator, o.Damaged = nil, nil
	return origin{options: fmt.Sprintf("%+v", o)}
}

// print writes the options, and the path, size and time of each file. If a file cannot be found, it writes only the path.
func (o origin) print(w io.Writer) {
	fmt.Fprintf(w, "%q\n", o.options)
	for _, name := range o.files {
		if IsURL(name) {
			fmt.Fprintf(w, "%q", name)
			if v, err := statObject(context.Background(), name); err == nil {
				fmt.Fprintf(w, " %s", v)
			}
			fmt.Fprintln(w)
			continue
		}
		if local, err := localName(name); err == nil {
			name = local
		}
		if path, err := filepath.Abs(name); err == nil {
			name = path
		}
		fmt.Fprintf(w, "%q", name)
		if st, err := os.Stat(name); err == nil {
			fmt.Fprintf(w, " %d %d", st.Size(), st.ModTime().UnixNano())
		}
		fmt.Fprintln(w)
	}
}

// printOrigins writes the origins of all sources of a pipeline.
func (n *node) printOrigins(w io.Writer) {
	for ; n != nil; n = n.up {
		n.origin.print(w)
		for _, in := range n.several {
			in.printOrigins(w)
		}
	}
}
