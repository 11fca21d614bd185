package cli

import (
	"bytes"
	"io"

	"github.com/spf13/cobra"
)

// bashHelpers come before the script for bash, which calls functions of the package
// bash-completion. They replace these functions where it is not installed, as in most containers.
const bashHelpers = `if ! declare -F _get_comp_words_by_ref >/dev/null; then
    _get_comp_words_by_ref()
    {
        local line=${COMP_LINE:0:COMP_POINT}
        IFS=$' \t' read -ra words <<<"$line"
        if [[ $line == *[$' \t'] ]]; then
            words+=("")
        fi
        cword=$((${#words[@]} - 1))
        cur=${words[cword]}
        prev=${words[cword - 1]}
    }
fi

if ! declare -F _filedir >/dev/null; then
    _filedir() # -d: folders; EXT|EXT: folders and files with these extensions
    {
        local IFS=$'\n' name
        compopt -o filenames 2>/dev/null
        for name in $(compgen -f -- "$cur"); do
            if [[ -d ${name/#\~/$HOME} || $1 != -d && $name =~ \.($1)$ ]]; then
                COMPREPLY+=("$name")
            fi
        done
    }
fi

`

// zshStart comes after the first line of the script for zsh. It starts the completion system
// if the shell has not done so.
const zshStart = "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit -i -D }\n"

func writeBashCompletion(w io.Writer, root *cobra.Command) error {
	if _, err := io.WriteString(w, bashHelpers); err != nil {
		return err
	}
	return root.GenBashCompletionV2(w, true)
}

func writeZshCompletion(w io.Writer, root *cobra.Command) error {
	var script bytes.Buffer
	if err := root.GenZshCompletion(&script); err != nil {
		return err
	}
	first, err := script.ReadString('\n') // #compdef, which must stay the first
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, first+zshStart+script.String())
	return err
}
