package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/answerback/answerback/form"
	"github.com/answerback/answerback/internal/surface/api"
	"github.com/answerback/answerback/internal/surface/terminal"
)

// uploading sends files of this machine to the gateway, for one question.
func uploading(c *api.Client, id string) func(context.Context, string, string) (form.Upload, error) {
	return func(ctx context.Context, field, path string) (form.Upload, error) {
		f, err := os.Open(path)
		if err != nil {
			return form.Upload{}, err
		}
		defer f.Close()
		if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
			return form.Upload{}, fmt.Errorf("%s is not a file", terminal.Line(path, 100))
		}
		kept, err := c.Upload(ctx, id, field, filepath.Base(path), f)
		if err != nil {
			return form.Upload{}, refused(err)
		}
		return form.Upload{Name: kept.Name, Type: kept.Type, Size: kept.Size}, nil
	}
}

// giveFiles sends the files of the command line, each as name=path.
func giveFiles(ctx context.Context, q *terminal.Question, files []string) error {
	for _, s := range files {
		field, path, ok := strings.Cut(s, "=")
		if !ok {
			return fmt.Errorf("--file %s: write name=path; nothing was sent", terminal.Line(s, 100))
		}
		if q.Form == nil {
			return errors.New("this question asks for a visit to an address, not for files; nothing was sent")
		}
		if _, err := q.Upload(ctx, field, path); err != nil {
			return fmt.Errorf("--file %s: %w; no answer was sent", terminal.Line(field, 100), err)
		}
	}
	return nil
}

// isFor reports whether one of the files is for a field.
func isFor(files []string, field string) bool {
	return slices.ContainsFunc(files, func(s string) bool { return strings.HasPrefix(s, field+"=") })
}
