package inputs

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/apache/arrow/go/v15/arrow"
)

// ShardFiles keeps every count-th of the files that a data set reads, starting at file index: the share of one of count
// pipelines, as with tf.data's AutoShardPolicy.FILE. It applies to the source, so it may come after
// any other steps; see Files for the data sets that have files. Fewer files than pipelines are an error.
func ShardFiles(index, count int) Transform {
	return func(ds Dataset) Dataset {
		up := adopt(ds)
		if count <= 0 || index < 0 || index >= count {
			return up.refuse("shard index must lie in [0, %d), got %d", count, index)
		}
		_, err := Files(ds)
		switch {
		case err != nil:
			return up.refuse("share files: %w", err)
		case up.fewestFiles() < count:
			return up.refuse("share files: %d files for %d pipelines: expected one for each, share rows instead or write more files", up.fewestFiles(), count)
		}
		d := up.derive(fmt.Sprintf("shard_files(%d/%d)", index, count), nil)
		share := fileShare{index, count}
		d.start = func(ctx context.Context, epoch int64) (stage, error) {
			st, err := up.open(share.in(ctx), epoch)
			if err != nil {
				return nil, err
			}
			return &shareStage{stage: st, share: share}, nil
		}
		return d
	}
}

// Files returns the files whose rows a data set reads one file after another, in order. The error says why a
// data set cannot be shared by files: it is not a reader of files followed by steps of this package, the
// reader needs all files at once (images), or a step depends on the positions of rows (Skip, Take, Fold, Shard).
func Files(ds Dataset) ([]string, error) {
	return adopt(ds).allFiles()
}

// fewestFiles returns the number of files of the source that has the fewest.
func (n *node) fewestFiles() int {
	for n.up != nil {
		n = n.up
	}
	if len(n.several) == 0 {
		return len(n.files)
	}
	fewest := math.MaxInt
	for _, in := range n.several {
		fewest = min(fewest, in.fewestFiles())
	}
	return fewest
}

func (n *node) allFiles() ([]string, error) {
	if n.err != nil {
		return nil, n.err
	}
	for ; n.up != nil; n = n.up {
		if n.byPosition {
			return nil, errPositionsOfRows
		}
	}
	if n.alike { // each source shares its own files
		var all []string
		for _, in := range n.several {
			files, err := in.allFiles()
			if err != nil {
				return nil, err
			}
			all = append(all, files...)
		}
		return all, nil
	}
	if len(n.files) == 0 {
		return nil, fmt.Errorf("%s reads no files one after the other: share rows instead, or let each task open its own files (FromFunction)", n.desc)
	}
	return n.files, nil
}

var errPositionsOfRows = errors.New("a step (skip, take, fold, shard) goes by the positions of rows, which must not depend on who reads which file: share rows instead")

// fileShare selects the files of a source that a pass reads.
type fileShare struct{ index, count int }

type fileShareKey struct{}

func (f fileShare) in(ctx context.Context) context.Context {
	return context.WithValue(ctx, fileShareKey{}, f)
}

// fileShareOf returns the share of the pass of ctx; the zero value means all files.
func fileShareOf(ctx context.Context) fileShare {
	f, _ := ctx.Value(fileShareKey{}).(fileShare)
	return f
}

// of returns the files of the share.
func (f fileShare) of(files []string) []string {
	if f.count <= 1 {
		return files
	}
	var mine []string
	for i := f.index; i < len(files); i += f.count {
		mine = append(mine, files[i])
	}
	return mine
}

// shareStage is a pass over a share. It also passes the share on to what it opens later.
type shareStage struct {
	stage
	share fileShare
}

func (s *shareStage) pull(ctx context.Context, limit int) (arrow.Record, error) {
	return s.stage.pull(s.share.in(ctx), limit)
}

func (s *shareStage) load(ctx context.Context, r *stateReader) error {
	return s.stage.load(s.share.in(ctx), r)
}
