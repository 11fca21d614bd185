package inputs

import (
	"fmt"
	"hash/fnv"
	"os"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/internal/platform/printable"
)

const (
	mostSized     = 10_000 // most files whose sizes are read
	mostFileNames = 200    // most bytes of file names in a description
)

// SourceFiles describes the files that a data set reads, independent of how workers share them: their number, their names without folders,
// and a digest of names and sizes. Tasks of a job that read the same data have the same description. It is "" if no files are read. Sizes
// are left out for more than 10000 files, and for objects by URL.
func SourceFiles(ds Dataset) string {
	files := adopt(ds).sourceFiles()
	if len(files) == 0 {
		return ""
	}
	slices.SortFunc(files, func(a, b string) int { return strings.Compare(BaseName(a), BaseName(b)) })
	h, bytes := fnv.New64a(), int64(0)
	var lines []string
	for _, name := range files {
		line := BaseName(name)
		if local, err := localName(name); err == nil && !IsURL(name) && len(files) <= mostSized {
			if info, err := os.Stat(local); err == nil {
				line = fmt.Sprint(line, " ", info.Size())
				bytes += info.Size()
			}
		}
		lines = append(lines, line)
	}
	slices.Sort(lines) // orders files with the same name in several folders
	fmt.Fprintf(h, "%q", lines)
	return fmt.Sprintf("%d files of %d bytes (%s), digest %016x", len(files), bytes, printable.Short(printable.Text(baseNames(files)), mostFileNames), h.Sum64())
}

// sourceFiles returns the files of all sources.
func (n *node) sourceFiles() (all []string) {
	for ; n != nil; n = n.up {
		all = append(all, n.origin.files...)
		for _, in := range n.several {
			all = append(all, in.sourceFiles()...)
		}
	}
	return all
}
