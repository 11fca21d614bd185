package inputs

import (
	"context"
	"fmt"
	"sort"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"
)

// The binary version of CIFAR-10 (Krizhevsky 2009): records of a label byte and
// the red, green and blue planes of 32x32 pixels.
const (
	cifarSide    = 32
	cifarPlane   = cifarSide * cifarSide
	cifarRecord  = 1 + 3*cifarPlane
	cifarClasses = 10
)

// CIFAR10 reads files of CIFAR-10's binary version into memory, gzip or not:
// "image" uint8[32,32,3], channels last, and "label" int64.
func CIFAR10(files []string, mem memory.Allocator) (Indexed, error) {
	return openCIFAR10(context.Background(), files, mem)
}

func openCIFAR10(ctx context.Context, files []string, mem memory.Allocator) (Indexed, error) {
	s, err := imageSchema(cifarSide, cifarSide, 3)
	if err != nil {
		return nil, err
	}
	var parts [][]byte
	var ends []int64
	total := int64(0)
	for _, f := range files {
		data, err := readFile(ctx, f)
		if err != nil {
			return nil, err
		}
		if err := checkCIFAR(data); err != nil {
			if other := mistaken(f, "cifar10", "CIFAR-10's binary version", data[:min(len(data), headBytes)]); other != nil {
				return nil, other
			}
			return nil, &DataError{File: f, Err: err}
		}
		total += int64(len(data) / cifarRecord)
		parts, ends = append(parts, data), append(ends, total)
	}
	if total == 0 {
		return nil, fmt.Errorf("%w: %s hold no image", ErrEmpty, baseNames(files))
	}
	n := &node{schema: s, mem: alloc(mem), origin: origin{files: files}, desc: fmt.Sprintf("cifar10(%s,%d)", baseNames(files), total), place: func(row int64) DataError {
		k, at := locateRow(ends, row)
		return DataError{File: files[k], Row: at + 1}
	}}
	return newIndexed(n, total, func(ctx context.Context, rows []int64) (arrow.Record, error) {
		return imageRecord(ctx, n, len(rows), func(i int, image []byte) (int64, error) {
			row := rows[i]
			k := sort.Search(len(ends), func(k int) bool { return row < ends[k] })
			if k > 0 {
				row -= ends[k-1]
			}
			rec := parts[k][row*cifarRecord:][:cifarRecord]
			interleave(image, rec[1:])
			return int64(rec[0]), nil
		})
	}), nil
}

// checkCIFAR checks the size of a file and the labels in it.
func checkCIFAR(data []byte) error {
	if len(data)%cifarRecord != 0 {
		return fmt.Errorf("size %d is not a multiple of %d bytes, one image and its label: the file is cut short or not CIFAR-10's binary version",
			len(data), cifarRecord)
	}
	for i := 0; i < len(data); i += cifarRecord {
		if data[i] >= cifarClasses {
			return fmt.Errorf("image %d has label %d, expected 0 to 9: this is not CIFAR-10's binary version", i/cifarRecord, data[i])
		}
	}
	return nil
}

// interleave turns three planes into pixels.
func interleave(dst, planes []byte) {
	r, g, b := planes[:cifarPlane], planes[cifarPlane:2*cifarPlane], planes[2*cifarPlane:3*cifarPlane]
	dst = dst[:3*cifarPlane]
	for i := range r {
		dst[3*i], dst[3*i+1], dst[3*i+2] = r[i], g[i], b[i]
	}
}
