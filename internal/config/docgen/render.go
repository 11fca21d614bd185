package main

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/config"
	"github.com/goestimator/goestimator/models/optimizers"
)

const intro = `# The config file

<!-- Written by internal/config/docgen from the type config.Config; run go generate ./internal/config to renew it. -->

A job is one YAML file. The files in [configs](../configs) are good starting points. Every key has a default, so an
empty file is valid. Values come from these sources, the highest priority first:

1. ` + "`--set key=value`" + ` on the command line, for example ` + "`--set train.max_steps=500`" + `;
2. the environment: GOESTIMATOR_ and the key in upper case, with underscores for dots, for example ` + "`GOESTIMATOR_TRAIN_MAX_STEPS=500`" + `; an empty variable counts as not set;
3. TF_CONFIG: the cluster, the task and model_dir;
4. the file;
5. the defaults below.

On the command line and in the environment, text is taken as it stands, and any other value is read as YAML or JSON:
` + "`--set model.params.hidden_units=[64,32]`" + `, ` + "`GOESTIMATOR_EVAL_EXPORTERS='[{name: best, kind: best}]'`" + `.
A list replaces the whole list of a lower source; maps are merged key by key. null means that the source does not give the
key. A list of one text may be written as a single text.

All violations are reported at once, each with the key, the value, what was expected and where the value was given. An
unknown key is an error that names the nearest known one; so is an unknown GOESTIMATOR_ variable of one of the sections.
Keys are not case-sensitive. A dot in a key separates two levels, so names that users choose (columns, features, metrics)
are values in lists, never keys. The resolved config is written to model_dir/config.yaml, which can be used as a config again.

In the tables, text after ` + "`csv:`" + ` is about this format. The same goes for kinds, rules, schedules and strategies, and for the
values of a key. ` + "`0:`" + ` and ` + "`Empty:`" + ` say what these values mean.
`

// section is one table: a struct type and the keys at which it stands.
type section struct {
	path  string // empty for the top level
	title string
	typ   reflect.Type
	value reflect.Value // the defaults; invalid for entries of lists
}

// noun is what the section's type is called in prose: its name without Spec, else its key.
func (s section) noun() string {
	if noun := strings.TrimSuffix(s.typ.Name(), "Spec"); noun != "" {
		return noun
	}
	noun := ""
	for word := range strings.SplitSeq(strings.TrimSuffix(s.path[strings.LastIndex(s.path, ".")+1:], "s"), "_") {
		noun += strings.ToUpper(word[:1]) + word[1:]
	}
	return noun
}

type renderer struct {
	docs     sources
	out      strings.Builder
	sections []section
	seen     map[reflect.Type]bool
}

// render returns the text of docs/config.md; root is the folder of the module.
func render(root string) (string, error) {
	r := &renderer{docs: sources{root: root, read: map[string]comments{}}, seen: map[reflect.Type]bool{}}
	r.out.WriteString(intro)
	defaults := config.Default()
	r.sections = []section{{"", "Top level", reflect.TypeFor[config.Config](), reflect.ValueOf(defaults)}}
	for len(r.sections) > 0 {
		s, rest := r.sections[0], r.sections[1:]
		r.sections = nil
		if err := r.table(s); err != nil {
			return "", err
		}
		r.sections = append(r.sections, rest...) // a section's own ones follow it
	}
	return r.out.String(), nil
}

func (r *renderer) table(s section) error {
	name := s.typ.Name()
	docs, err := r.docs.of(s.typ)
	if err != nil {
		return err
	}
	doc := docs[name]
	if doc == "" {
		return fmt.Errorf("type %s has no doc comment", name)
	}
	fmt.Fprintf(&r.out, "\n## %s\n\n%s\n\n| key | type | default | meaning |\n|---|---|---|---|\n", s.title, markdown(strings.Replace(doc, name, s.noun(), 1)))
	for i := range s.typ.NumField() {
		f := s.typ.Field(i)
		key, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if key == "" || key == "-" {
			continue
		}
		meaning := docs[name+"."+f.Name]
		if meaning == "" {
			return fmt.Errorf("field %s.%s has no doc comment", name, f.Name)
		}
		names := "`" + key + "`"
		if alias := f.Tag.Get("alias"); alias != "" {
			names += " or `" + alias + "`"
		}
		fmt.Fprintf(&r.out, "| %s | %s | %s | %s |\n", names, typeWords(f.Type), r.defaultOf(s, i), prose(meaning))
		r.enqueue(s, key, f.Type, i)
	}
	return nil
}

// enqueue adds the tables of a field's own struct type.
func (r *renderer) enqueue(s section, key string, t reflect.Type, field int) {
	path, value := key, reflect.Value{}
	if s.path != "" {
		path = s.path + "." + key
	}
	title := path
	if t.Kind() == reflect.Slice {
		t = t.Elem()
		title += ", each entry"
	} else if s.value.IsValid() {
		value = s.value.Field(field)
	}
	if t == reflect.TypeFor[inputs.Spec]() {
		path, title = "input", "input: train.input, eval.input and predict.input"
	}
	if t.Kind() != reflect.Struct || r.seen[t] {
		return
	}
	r.seen[t] = true
	r.sections = append(r.sections, section{path, title, t, value})
}

func (r *renderer) defaultOf(s section, field int) string {
	if !s.value.IsValid() {
		return ""
	}
	v := s.value.Field(field)
	switch v.Kind() {
	case reflect.Struct, reflect.Pointer, reflect.Map, reflect.Slice, reflect.Interface:
		if lr, ok := v.Interface().(optimizers.LearningRateSpec); ok {
			return fmt.Sprintf("`%g`", lr.Initial)
		}
		return ""
	case reflect.String:
		if v.String() == "" {
			return ""
		}
	}
	return fmt.Sprintf("`%v`", v.Interface())
}

func typeWords(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return typeWords(t.Elem())
	case reflect.String:
		return "text"
	case reflect.Int, reflect.Int64:
		return "integer"
	case reflect.Float64:
		return "number"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "list of " + typeWords(t.Elem())
	case reflect.Struct:
		if t == reflect.TypeFor[optimizers.LearningRateSpec]() {
			return "number or map"
		}
		return "map"
	case reflect.Map:
		return "map"
	}
	return "any"
}

// markdown makes Markdown of the doc comment of a type: a line for each paragraph, and its preformatted lines in a block.
func markdown(doc string) string {
	var parts []string
	for part := range strings.SplitSeq(doc, "\n\n") {
		if strings.HasPrefix(part, "\t") {
			parts = append(parts, "```text\n"+strings.ReplaceAll(part[1:], "\n\t", "\n")+"\n```")
			continue
		}
		parts = append(parts, prose(oneLine(part)))
	}
	return strings.Join(parts, "\n\n")
}

// prose makes a doc comment safe for Markdown.
func prose(doc string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "[", "", "]", "").Replace(doc)
}
