package inputs

import (
	"context"
	"fmt"
	"sync"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"
)

// Cache reads all rows into memory at the first use and serves every pass from
// there. A Shuffle directly after it keeps row numbers, as for an Indexed data
// set. Go's garbage collector frees the rows, not the allocator.
func Cache() Transform {
	return func(ds Dataset) Dataset {
		if ix, ok := ds.(Indexed); ok {
			return ix
		}
		up := adopt(ds)
		d := up.derive("cache", nil)
		c := &cache{up: up, mem: d.mem, ix: map[fileShare]Indexed{}}
		d.index = c.rows
		d.start = func(ctx context.Context, _ int64) (stage, error) {
			ix, err := c.rows(ctx)
			if err != nil {
				return nil, err
			}
			return &rangeStage{src: ix}, nil
		}
		return d
	}
}

type cache struct {
	up  *node
	mem memory.Allocator
	mu  sync.Mutex
	ix  map[fileShare]Indexed
}

// rows reads the data at the first call; after a failure the next call tries
// again.
func (c *cache) rows(ctx context.Context) (Indexed, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	share := fileShareOf(ctx)
	if ix := c.ix[share]; ix != nil {
		return ix, nil
	}
	recs, err := c.read(ctx)
	if err != nil {
		return nil, err
	}
	ix, err := indexRecords(c.up.schema, recs, c.mem)
	if err != nil {
		return nil, err
	}
	ix.desc = c.up.desc + " | cache"
	ix.view = keepViews(ix.view).view
	c.ix[share] = ix
	return ix, nil
}

func (c *cache) read(ctx context.Context) ([]arrow.Record, error) {
	ctx = withoutBatchMemory(ctx)
	st, err := c.up.open(ctx, 0)
	if err != nil {
		return nil, err
	}
	var recs []arrow.Record
	bytes, limit := int64(0), budgetOf(ctx)
	for {
		rec, err := st.pull(ctx, 0)
		if err == nil {
			recs = append(recs, rec)
			if bytes += rowBytes(rec); !limit.exceeds(bytes) {
				continue
			}
			err = fmt.Errorf("the rows of a cache, or of small files that are shuffled, are kept in memory and need more than %s: raise memory_mb", mebibytes(limit.limit))
		}
		if cerr := st.close(); eof(err) {
			err = cerr
		}
		if err == nil && len(recs) == 0 {
			err = fmt.Errorf("%w: nothing to cache", ErrEmpty)
		}
		if err != nil {
			releaseAll(recs)
			return nil, err
		}
		defer releaseAll(recs)
		return gatherRecords(memory.NewGoAllocator(), c.up.schema.Arrow(), recs, allRows(recs))
	}
}
