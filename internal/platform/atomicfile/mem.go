package atomicfile

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"sync"
	"syscall"
)

// Op names an operation that changes a Mem.
type Op string

// The operations that a fault function sees.
const (
	OpCreate  Op = "open"
	OpWrite   Op = "write"
	OpSync    Op = "sync"
	OpSyncDir Op = "syncdir"
	OpRename  Op = "rename"
	OpRemove  Op = "remove"
	OpMkdir   Op = "mkdir"
)

// Mem is a file system in memory for tests. It separates what a program sees from what
// survives a power cut: content is durable after the file's Sync, names after the
// directory's. The zero value is not usable; call NewMem.
type Mem struct {
	mu    sync.Mutex
	seen  map[string]*memNode // by clean path
	disk  map[string]*memNode // the durable names
	log   []nameOp            // changes of names that are not durable yet
	fault func(op Op, path string) error
}

// memNode is a file or a directory, independent of its names.
type memNode struct {
	dir     bool
	data    []byte
	durable []byte
}

// nameOp is one change of names, atomic as in a journaling file system.
type nameOp struct {
	dir          string // the directory whose Sync makes it durable
	link, unlink string // either may be empty
	node         *memNode
}

// NewMem returns an empty file system with the given directories, which are durable.
func NewMem(dirs ...string) *Mem {
	m := &Mem{seen: map[string]*memNode{}, disk: map[string]*memNode{}}
	for _, d := range dirs {
		for p := filepath.Clean(d); !isRoot(p); p = filepath.Dir(p) {
			n := &memNode{dir: true}
			m.seen[p], m.disk[p] = n, n
		}
	}
	return m
}

// SetFault installs a function that is called before every change; its error becomes
// the operation's. A failing write leaves half of its bytes. The function must not
// call the Mem. Nil removes it.
func (m *Mem) SetFault(f func(op Op, path string) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fault = f
}

func (m *Mem) check(op Op, path string) error {
	if m.fault == nil {
		return nil
	}
	return m.fault(op, path)
}

func (m *Mem) apply(op nameOp) {
	applyTo(m.seen, op)
	m.log = append(m.log, op)
}

func applyTo(names map[string]*memNode, op nameOp) {
	if op.unlink != "" {
		delete(names, op.unlink)
	}
	if op.link != "" {
		names[op.link] = op.node
	}
}

func isRoot(path string) bool { return path == "." || path == string(filepath.Separator) }

func (m *Mem) dirNode(path string) *memNode {
	if isRoot(path) {
		return &memNode{dir: true}
	}
	if n := m.seen[path]; n != nil && n.dir {
		return n
	}
	return nil
}

// OpenFile implements FS.
func (m *Mem) OpenFile(name string, flag int, _ fs.FileMode) (File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	path := filepath.Clean(name)
	if d := m.dirNode(path); d != nil {
		return &memFile{m: m, node: d, path: path}, nil
	}
	n := m.seen[path]
	if n == nil {
		if flag&os.O_CREATE == 0 || m.dirNode(filepath.Dir(path)) == nil {
			return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.ENOENT}
		}
		if err := m.check(OpCreate, path); err != nil {
			return nil, err
		}
		n = &memNode{}
		m.apply(nameOp{dir: filepath.Dir(path), link: path, node: n})
	} else if flag&os.O_EXCL != 0 {
		return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.EEXIST}
	}
	if flag&os.O_TRUNC != 0 {
		n.data = nil
	}
	return &memFile{m: m, node: n, path: path}, nil
}

// Rename implements FS.
func (m *Mem) Rename(oldname, newname string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	from, to := filepath.Clean(oldname), filepath.Clean(newname)
	n := m.seen[from]
	if n == nil || m.dirNode(filepath.Dir(to)) == nil {
		return &os.LinkError{Op: "rename", Old: oldname, New: newname, Err: syscall.ENOENT}
	}
	if err := m.check(OpRename, to); err != nil {
		return err
	}
	m.apply(nameOp{dir: filepath.Dir(to), link: to, unlink: from, node: n})
	return nil
}

// Remove implements FS.
func (m *Mem) Remove(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	path := filepath.Clean(name)
	if m.seen[path] == nil {
		return &fs.PathError{Op: "remove", Path: name, Err: syscall.ENOENT}
	}
	if err := m.check(OpRemove, path); err != nil {
		return err
	}
	m.apply(nameOp{dir: filepath.Dir(path), unlink: path})
	return nil
}

// ReadDir implements FS.
func (m *Mem) ReadDir(name string) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	dir := filepath.Clean(name)
	if m.dirNode(dir) == nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.ENOENT}
	}
	var names []string
	for p := range m.seen {
		if filepath.Dir(p) == dir && p != dir {
			names = append(names, filepath.Base(p))
		}
	}
	sort.Strings(names)
	return names, nil
}

// Mkdir implements FS.
func (m *Mem) Mkdir(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	path := filepath.Clean(name)
	switch n := m.seen[path]; {
	case isRoot(path), n != nil && n.dir:
		return &fs.PathError{Op: "mkdir", Path: name, Err: syscall.EEXIST}
	case n != nil:
		return &fs.PathError{Op: "mkdir", Path: name, Err: syscall.ENOTDIR}
	case m.seen[filepath.Dir(path)] != nil && m.dirNode(filepath.Dir(path)) == nil:
		return &fs.PathError{Op: "mkdir", Path: name, Err: syscall.ENOTDIR}
	case m.dirNode(filepath.Dir(path)) == nil:
		return &fs.PathError{Op: "mkdir", Path: name, Err: syscall.ENOENT}
	}
	if err := m.check(OpMkdir, path); err != nil {
		return err
	}
	m.apply(nameOp{dir: filepath.Dir(path), link: path, node: &memNode{dir: true}})
	return nil
}

// memFile is an open file; it outlives the removal of its name, as in POSIX.
type memFile struct {
	m    *Mem
	node *memNode
	path string
}

// ReadAt implements File.
func (f *memFile) ReadAt(b []byte, off int64) (int, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if f.node.dir || off < 0 {
		return 0, &fs.PathError{Op: "read", Path: f.path, Err: syscall.EINVAL}
	}
	if off >= int64(len(f.node.data)) {
		return 0, io.EOF
	}
	n := copy(b, f.node.data[off:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// Write implements File.
func (f *memFile) Write(b []byte) (int, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if err := f.m.check(OpWrite, f.path); err != nil {
		half := len(b) / 2
		f.node.data = append(f.node.data, b[:half]...)
		return half, err
	}
	f.node.data = append(f.node.data, b...)
	return len(b), nil
}

// Sync implements File.
func (f *memFile) Sync() error {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if f.node.dir {
		return f.m.syncDir(f.path)
	}
	if err := f.m.check(OpSync, f.path); err != nil {
		return err
	}
	f.node.durable = append([]byte(nil), f.node.data...)
	return nil
}

func (m *Mem) syncDir(dir string) error {
	if err := m.check(OpSyncDir, dir); err != nil {
		return err
	}
	var rest []nameOp
	for _, op := range m.log {
		if op.dir == dir {
			applyTo(m.disk, op)
		} else {
			rest = append(rest, op)
		}
	}
	m.log = rest
	return nil
}

// Size implements File.
func (f *memFile) Size() (int64, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	return int64(len(f.node.data)), nil
}

// Close implements File.
func (f *memFile) Close() error { return nil }
