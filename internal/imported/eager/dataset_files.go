package eager

import (
	"fmt"
	"os"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/imported/dataset"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
)

// datasetFileOps are datasets of the records of files.
var datasetFileOps = map[*ops.Def]maker{
	ops.TFRecordDataset:            makeDataset(always(tfRecordDataset)),
	ops.TFRecordDatasetV2:          makeDataset(always(tfRecordDataset)),
	ops.TextLineDataset:            makeDataset(always(textLineDataset)),
	ops.FixedLengthRecordDataset:   makeDataset(always(fixedLengthDataset)),
	ops.FixedLengthRecordDatasetV2: makeDataset(always(fixedLengthDataset)),
}

// open returns the function that opens files that ops may read.
func (c call) open() dataset.Open {
	return func(uri string) (atomicfile.File, error) {
		_, path := localPath(uri)
		fsys, err := c.files(path)
		if err != nil {
			return nil, err
		}
		return fsys.OpenFile(path, os.O_RDONLY, 0)
	}
}

func tfRecordDataset(in *inputs) (dataset.Dataset, error) {
	paths, compression, open := in.texts("filenames"), in.text("compression_type"), in.c.open()
	var offsets []int64
	if in.has("byte_offsets") {
		offsets = in.sizes("byte_offsets")
		if len(offsets) != 0 && len(offsets) != len(paths) {
			return nil, fmt.Errorf("expected a byte offset for each of %d files, got %d", len(paths), len(offsets))
		}
	}
	return dataset.FromFiles(len(paths), func(i, limit int) (dataset.Records, error) {
		f := dataset.RecordFile{Path: paths[i], Compression: compression, Limit: limit}
		if len(offsets) > 0 {
			f.Offset = offsets[i]
		}
		return f.TFRecords(open)
	}), nil
}

func textLineDataset(in *inputs) (dataset.Dataset, error) {
	paths, compression, open := in.texts("filenames"), in.text("compression_type"), in.c.open()
	return dataset.FromFiles(len(paths), func(i, limit int) (dataset.Records, error) {
		return dataset.RecordFile{Path: paths[i], Compression: compression, Limit: limit}.Lines(open, dataset.DropReturns)
	}), nil
}

func fixedLengthDataset(in *inputs) (dataset.Dataset, error) {
	paths, compression, open := in.texts("filenames"), in.text("compression_type"), in.c.open()
	fixed := dataset.Fixed{Header: in.int("header_bytes"), Record: in.int("record_bytes"), Footer: in.int("footer_bytes")}
	return dataset.FromFiles(len(paths), func(i, limit int) (dataset.Records, error) {
		return dataset.RecordFile{Path: paths[i], Compression: compression, Limit: limit}.FixedLength(open, fixed)
	}), nil
}
