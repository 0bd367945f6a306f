package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"

	"github.com/spf13/cobra"

	"github.com/answerback/answerback/internal/config"
	"github.com/answerback/answerback/internal/journal"
	"github.com/answerback/answerback/internal/journal/natsjournal"
	"github.com/answerback/answerback/internal/seal"
)

func newJournalCheckCmd() *cobra.Command {
	return &cobra.Command{
		Use: "check", Short: "Check the store while no gateway runs", Args: cobra.NoArgs,
		Long: "Read the whole store in data_dir while no gateway runs, and print what is wrong with it: by stream, message\n" +
			"and key. The status is 1 where something is.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := ownStore(cmd)
			if err != nil {
				return err
			}
			found, err := natsjournal.Check(cmd.Context(), storeConfig(cfg, quiet(cfg)))
			if err != nil {
				return err
			}
			for _, f := range found {
				fmt.Fprintln(cmd.OutOrStdout(), f)
			}
			if len(found) > 0 {
				return fmt.Errorf("the store is damaged (%s): restore a backup, or keep what can be read with answerback journal repair", count(len(found), "finding"))
			}
			fmt.Fprintln(cmd.OutOrStdout(), "the store is whole")
			return nil
		},
	}
}

func newJournalRepairCmd() *cobra.Command {
	return &cobra.Command{
		Use: "repair", Short: "Make a store of what can be read of a damaged one", Args: cobra.NoArgs,
		Long: "Make a new store of what can be read of the one in data_dir, while no gateway runs, and move the damaged one\n" +
			"aside as it is. What was lost is printed, by key where that is known. Because older versions of lost records\n" +
			"may be among what is read, a repair is a step back like a restore: connected accounts are suspended, and\n" +
			"answers and results that may have been delivered are not delivered again. A store that is whole is left alone.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := ownStore(cmd)
			if err != nil {
				return err
			}
			ring, err := seal.OpenExisting(cfg.DataDir)
			if err != nil {
				return err
			}
			return repair(cmd, cfg, ring)
		},
	}
}

// ownStore gives the configuration of a store that is in data_dir, and that no
// gateway uses as far as can be told.
func ownStore(cmd *cobra.Command) (*config.Config, error) {
	cfg, _, err := loadConfig(cmd)
	switch {
	case err != nil:
		return nil, err
	case cfg.Journal.InMemory:
		return nil, errors.New("this gateway keeps nothing (journal.in_memory)")
	case cfg.Journal.URL != "":
		return nil, errors.New("the store is at journal.url: check it with the tools of NATS")
	case running(cmd.Context(), cfg.DataDir):
		return nil, errors.New("a gateway runs with this data_dir: stop it first")
	}
	return cfg, nil
}

func repair(cmd *cobra.Command, cfg *config.Config, ring *seal.Ring) error {
	ctx, out, dir := cmd.Context(), cmd.OutOrStdout(), storeDir(cfg)
	if !natsjournal.Exists(dir) {
		return fmt.Errorf("there is no store in %s", dir)
	}
	release, err := lockStore(dir)
	if err != nil {
		return err
	}
	defer release()
	// The engine changes what it opens, so it is given copies.
	c := storeConfig(cfg, quiet(cfg))
	whole, err := onCopy(ctx, &c, dir, func() (bool, error) {
		found, err := natsjournal.Check(ctx, c)
		return err == nil && len(found) == 0, err
	})
	if err != nil {
		return err
	}
	if whole {
		fmt.Fprintln(out, "the store is whole: nothing was changed")
		return nil
	}
	back, lost, kept := newStepBack(ring), 0, 0
	var built string
	_, err = onCopy(ctx, &c, dir, func() (bool, error) {
		salvaged := natsjournal.Salvage(ctx, c, func(f natsjournal.Finding) {
			lost++
			fmt.Fprintln(out, "lost:", f)
		})
		var err error
		built, err = buildStore(ctx, cfg, 0, counted(back.records(salvaged), &kept))
		return true, err
	})
	if err != nil {
		return fmt.Errorf("nothing was repaired: %w", err)
	}
	old := timed(dir, "damaged")
	if err := natsjournal.Replace(dir, built, old); err != nil {
		return err
	}
	if lost == 0 {
		fmt.Fprintln(out, "lost: it is not known what; the store held other records than were stored there")
	}
	fmt.Fprintf(out, "kept: %s\n", count(kept, "record"))
	for _, note := range back.notes() {
		fmt.Fprintln(out, note)
	}
	fmt.Fprintln(out, "the damaged store is in", old)
	return nil
}

func counted(all iter.Seq2[journal.Saved, error], n *int) iter.Seq2[journal.Saved, error] {
	return func(yield func(journal.Saved, error) bool) {
		for s, err := range all {
			if err == nil {
				*n++
			}
			if !yield(s, err) {
				return
			}
		}
	}
}

// onCopy does something with a copy of a store, which is removed after.
func onCopy(ctx context.Context, c *natsjournal.Config, dir string, do func() (bool, error)) (ok bool, err error) {
	c.Dir = timed(dir, wordCopy)
	defer func() { err = errors.Join(err, os.RemoveAll(c.Dir)) }()
	if err := natsjournal.Copy(ctx, dir, c.Dir); err != nil {
		return false, err
	}
	return do()
}
