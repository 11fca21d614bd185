package inputs

import (
	"context"
	"io"
	"runtime"
	"sync"

	"github.com/apache/arrow/go/v15/arrow"
)

// blocksAhead parses blocks in several goroutines, one block in each, and returns them in the order of the file.
type blocksAhead struct {
	blocks  chan *aheadBlock // in order
	work    chan *aheadBlock // the same
	spare   chan []byte      // memory of blocks that were read
	stop    chan struct{}
	holds   holder
	running sync.WaitGroup
	waiting *aheadBlock // the next one
}

// aheadBlock is a block: its text and, once done is closed, its rows.
type aheadBlock struct {
	text  []byte
	held  int64 // bytes that it takes of the budget
	done  chan struct{}
	rec   arrow.Record
	whole bool
}

func readAhead(text blockCutter, f blockFormat, b *budget) *blocksAhead {
	workers := runtime.GOMAXPROCS(0)
	a := &blocksAhead{blocks: make(chan *aheadBlock, workers+1), work: make(chan *aheadBlock, workers+1),
		spare: make(chan []byte, 2*workers+2), stop: make(chan struct{}), holds: holder{of: b}}
	a.running.Go(func() { a.cut(text) })
	for range workers {
		a.running.Go(func() { a.parse(f.newParser()) })
	}
	return a
}

// cut makes the blocks. A block that cannot be made is marked done, and not whole.
func (a *blocksAhead) cut(text blockCutter) {
	defer close(a.blocks)
	defer close(a.work)
	for {
		var buf []byte
		select {
		case buf = <-a.spare:
		default:
		}
		block, err := text.next(buf, blockBytes)
		if eof(err) {
			return
		}
		b := &aheadBlock{text: block, held: int64(len(block)), done: make(chan struct{})}
		if _, ok := a.holds.take(b.held, a.stop); !ok {
			return
		}
		if err != nil {
			close(b.done)
		}
		select {
		case a.blocks <- b:
		case <-a.stop:
			return
		}
		if err != nil {
			return
		}
		a.work <- b // does not block: work has the capacity of blocks
	}
}

// parse parses blocks until there are no more.
func (a *blocksAhead) parse(p blockParser) {
	for b := range a.work {
		select {
		case <-a.stop:
		default:
			b.rec, b.whole = p.record(b.text)
		}
		select {
		case a.spare <- b.text:
		default:
		}
		b.text = nil
		if b.rec != nil {
			size := rowBytes(b.rec)
			a.holds.add(size - b.held)
			b.held = size
		}
		close(b.done)
	}
}

// next returns the rows of the next block, as blockFile.block does.
func (a *blocksAhead) next(ctx context.Context) (arrow.Record, bool, error) {
	if a.waiting == nil {
		select {
		case b, ok := <-a.blocks:
			if !ok {
				return nil, false, io.EOF
			}
			a.waiting = b
		case <-ctx.Done():
			return nil, false, ctx.Err()
		}
	}
	select {
	case <-a.waiting.done:
	case <-ctx.Done():
		return nil, false, ctx.Err()
	}
	b := a.waiting
	a.waiting = nil
	a.holds.add(-b.held)
	return b.rec, b.whole, nil
}

// close ends the goroutines and frees what they read.
func (a *blocksAhead) close() {
	close(a.stop)
	a.running.Wait()
	if a.waiting != nil && a.waiting.rec != nil {
		a.waiting.rec.Release()
	}
	for b := range a.blocks {
		if b.rec != nil {
			b.rec.Release()
		}
	}
	a.holds.drop()
}
