package device

import (
	"fmt"
	"strconv"
	"strings"
)

// Any stands for a number that a Name does not specify.
const Any = -1

// Name is a device's name, whole or in part. Unspecified parts are "" for Job and Type, and Any for numbers.
type Name struct {
	Job     string
	Replica int
	Task    int
	Type    string // CPU, GPU, ...
	ID      int
}

// Parse reads a name such as "/job:ps/replica:0/task:1/device:CPU:0" or a part of one, with the parts in any order. ""
// specifies nothing; "*" leaves a number unspecified. The old forms "/cpu:0" and "/gpu:0" are accepted too.
func Parse(text string) (Name, error) {
	n := Name{Replica: Any, Task: Any, ID: Any}
	if text == "" {
		return n, nil
	}
	if text[0] != '/' {
		return n, fmt.Errorf("device %q: expected parts that begin with a slash, as /job:worker/task:0/device:CPU:0", text)
	}
	for part := range strings.SplitSeq(text[1:], "/") {
		if err := n.add(part); err != nil {
			return n, fmt.Errorf("device %q: %w", text, err)
		}
	}
	return n, nil
}

// add reads one part.
func (n *Name) add(part string) (err error) {
	key, value, found := strings.Cut(part, ":")
	if !found && !strings.EqualFold(key, "cpu") && !strings.EqualFold(key, "gpu") {
		return fmt.Errorf("unknown attribute: %q", part)
	}
	switch {
	case key == "job":
		if value == "" || strings.ContainsFunc(value, func(r rune) bool { return !letter(r) && r != '_' && (r < '0' || r > '9') }) {
			return fmt.Errorf("job %q: expected letters, digits and underscores", value)
		}
		n.Job = value
	case key == "replica":
		n.Replica, err = number(value)
	case key == "task":
		n.Task, err = number(value)
	case key == "device":
		kind, id, _ := strings.Cut(value, ":")
		return n.kind(kind, id)
	case strings.EqualFold(key, "cpu"), strings.EqualFold(key, "gpu"):
		return n.kind(key, value)
	default:
		return fmt.Errorf("unknown attribute: %q", key)
	}
	return err
}

func letter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }

func (n *Name) kind(kind, id string) (err error) {
	if n.Type != "" {
		return fmt.Errorf("cannot specify multiple device types: %s and %s", n.Type, strings.ToUpper(kind))
	}
	if kind == "" || kind == "*" {
		return nil
	}
	n.Type = strings.ToUpper(kind)
	if id != "" {
		n.ID, err = number(id)
	}
	return err
}

// number reads an index; "*" is Any.
func number(text string) (int, error) {
	if text == "*" {
		return Any, nil
	}
	i, err := strconv.ParseInt(text, 10, 32)
	if err != nil || i < 0 {
		return Any, fmt.Errorf("expected a number or *, got %q", text)
	}
	return int(i), nil
}

// String returns the name in TensorFlow's form; Parse reads it back.
func (n Name) String() string {
	var b strings.Builder
	if n.Job != "" {
		b.WriteString("/job:" + n.Job)
	}
	for _, part := range []struct {
		key string
		n   int
	}{{"replica", n.Replica}, {"task", n.Task}} {
		if part.n != Any {
			b.WriteString("/" + part.key + ":" + strconv.Itoa(part.n))
		}
	}
	if n.Type != "" {
		b.WriteString("/device:" + n.Type + ":")
		if n.ID == Any {
			b.WriteString("*")
		} else {
			b.WriteString(strconv.Itoa(n.ID))
		}
	}
	return b.String()
}

// Merge returns n with unspecified parts taken from outer, as for a device scope inside another one.
func (n Name) Merge(outer Name) Name {
	if n.Job == "" {
		n.Job = outer.Job
	}
	if n.Replica == Any {
		n.Replica = outer.Replica
	}
	if n.Task == Any {
		n.Task = outer.Task
	}
	if n.Type == "" {
		n.Type, n.ID = outer.Type, outer.ID
	} else if n.ID == Any && n.Type == outer.Type {
		n.ID = outer.ID
	}
	return n
}

// Matches reports whether a whole name has all parts that the partial name n specifies.
func (n Name) Matches(whole Name) bool {
	return (n.Job == "" || n.Job == whole.Job) && fits(n.Replica, whole.Replica) && fits(n.Task, whole.Task) &&
		(n.Type == "" || n.Type == whole.Type) && fits(n.ID, whole.ID)
}

func fits(stated, whole int) bool { return stated == Any || stated == whole }
