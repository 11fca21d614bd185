package columngraph

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// vocabularyNodes is a lookup table in a graph.
type vocabularyNodes struct {
	entries *tensor.Tensor // strings or int64, in the order of their ids
	outside int64          // the id of values outside the table
	oov     int            // instead, that number of buckets after the table
	// fill adds the operation that fills the table.
	fill func(e *emitter, handle graph.Output) *graph.Node
}

func newVocabularyNodes(entries *tensor.Tensor, def *int, oov int) vocabularyNodes {
	v := vocabularyNodes{entries: entries, outside: -1, oov: oov}
	if def != nil {
		v.outside = int64(*def)
	}
	return v
}

func (e *emitter) vocabulary(c *feature.Vocabulary, steps bool) listNodes {
	v := newVocabularyNodes(c.Entries(), c.Default, c.OOVBuckets)
	v.fill = v.fromList
	return v.emit(e, c, c.Key, steps)
}

func (e *emitter) vocabularyFile(c *feature.VocabularyFile, steps bool) listNodes {
	v := newVocabularyNodes(c.Entries(), c.Default, c.OOVBuckets)
	v.fill = func(e *emitter, handle graph.Output) *graph.Node { return v.fromFile(e, handle, c.File) }
	return v.emit(e, c, c.Key, steps)
}

func (v vocabularyNodes) emit(e *emitter, c feature.Column, key string, steps bool) listNodes {
	l := emitTokenIDs(e, c, key, steps, func(e *emitter, values graph.Output) graph.Output { return v.lookup(e, c, values) })
	l.absent = l.absent || v.oov == 0 && v.outside < 0
	return l
}

// lookup adds the ids of values.
func (v vocabularyNodes) lookup(e *emitter, c feature.Column, values graph.Output) graph.Output {
	handle := v.handle(e, c)
	found := e.op("LookupTableFindV2", "lookup", int64s(values), graph.Attrs{"Tin": values.DType(), "Tout": tensor.Int64},
		handle, values, e.scalar("outside", v.outside))
	if v.oov == 0 {
		return found
	}
	other := e.binary("AddV2", "oov_ids", e.bucket(values, v.oov), e.scalar("entries", int64(v.entries.Len())))
	return e.selected("ids", e.compare("GreaterEqual", "in_vocabulary", found, e.scalar("first", 0)), found, other)
}

// handle returns the table of a column, which its ids and steps share.
func (v vocabularyNodes) handle(e *emitter, c feature.Column) graph.Output {
	type handleOf string
	return emitOnce(e, handleOf(c.String()), func() graph.Output {
		handle := e.op("HashTableV2", "table", graph.Type{DType: tensor.Resource}, graph.Attrs{"container": []byte{}, "shared_name": []byte{},
			"use_node_name_sharing": true, "key_dtype": v.keys(), "value_dtype": tensor.Int64})
		e.out.Init = append(e.out.Init, v.fill(e, handle))
		return handle
	})
}

func (v vocabularyNodes) keys() tensor.DType {
	return v.entries.DType
}

// fromList fills the table from constants.
func (v vocabularyNodes) fromList(e *emitter, handle graph.Output) *graph.Node {
	n := v.entries.Len()
	ids := make([]int64, n)
	for i := range ids {
		ids[i] = int64(i)
	}
	keys := e.constant("entries_list", v.entries, nil)
	return e.b.Node("LookupTableImportV2", e.scope+"table_init", nil, graph.Attrs{"Tin": v.keys(), "Tout": tensor.Int64},
		handle, keys, e.ints("entries_ids", tensor.Int64, ids, n))
}

// fromFile fills the table from an asset.
func (v vocabularyNodes) fromFile(e *emitter, handle graph.Output, file string) *graph.Node {
	const wholeLine, lineNumber = -2, -1
	attrs := graph.Attrs{"vocab_size": int64(v.entries.Len()), "key_index": int64(wholeLine), "value_index": int64(lineNumber),
		"delimiter": []byte("\t"), "offset": int64(0)}
	return e.b.Node("InitializeTableFromTextFileV2", e.scope+"table_init", nil, attrs, handle, e.asset(file, v.lines()))
}

// lines returns the vocabulary as the content of a file, as it was when the Plan was made.
func (v vocabularyNodes) lines() []byte {
	var out bytes.Buffer
	if v.entries.DType == tensor.Int64 {
		for _, x := range tensor.Values[int64](v.entries) {
			fmt.Fprintln(&out, x)
		}
		return out.Bytes()
	}
	for _, x := range v.entries.Strings {
		out.Write(x)
		out.WriteByte('\n')
	}
	return out.Bytes()
}

// asset returns the constant with the name of a file. Equal files share it.
func (e *emitter) asset(file string, content []byte) graph.Output {
	base := filepath.Base(file)
	stem, ext := strings.TrimSuffix(base, filepath.Ext(base)), filepath.Ext(base)
	taken := map[string]bool{}
	for _, a := range e.out.Assets {
		if taken[a.Name] = true; strings.HasPrefix(a.Name, stem) && bytes.Equal(a.Content, content) {
			return a.Tensor
		}
	}
	name := base
	for i := 1; taken[name]; i++ {
		name = fmt.Sprintf("%s_%d%s", stem, i, ext)
	}
	tensor := e.texts("asset_path", [][]byte{[]byte(name)})
	e.out.Assets = append(e.out.Assets, Asset{Name: name, Content: content, Tensor: tensor})
	return tensor
}
