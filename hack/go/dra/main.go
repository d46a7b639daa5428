// Dra answers questions about devices with Kubernetes' own packages: `dra cel` and `dra allocate` read one JSON object
// a line and write one a line. The differential tests compare our answers with these.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"k8s.io/klog/v2"
)

func main() {
	klog.SetOutput(io.Discard)
	klog.LogToStderr(false)
	answers := map[string]func([]byte) (any, error){"cel": evaluate, "allocate": allocate}
	if len(os.Args) != 2 || answers[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: dra cel|allocate <questions.jsonl >answers.jsonl")
		os.Exit(2)
	}
	if err := converse(os.Stdin, os.Stdout, answers[os.Args[1]]); err != nil {
		fmt.Fprintln(os.Stderr, "dra:", err)
		os.Exit(1)
	}
}

// converse answers line by line; what is buffered is sent before it waits for more questions.
func converse(from io.Reader, to io.Writer, answer func([]byte) (any, error)) error {
	questions := bufio.NewReaderSize(from, 1<<20)
	output := bufio.NewWriter(to)
	encoder := json.NewEncoder(output)
	encoder.SetEscapeHTML(false)
	for {
		line, failure := questions.ReadBytes('\n')
		if len(line) > 0 {
			given, err := answer(line)
			if err != nil {
				return err
			}
			if err := encoder.Encode(given); err != nil {
				return err
			}
			if questions.Buffered() == 0 {
				if err := output.Flush(); err != nil {
					return err
				}
			}
		}
		if failure == io.EOF {
			return output.Flush()
		}
		if failure != nil {
			return failure
		}
	}
}
