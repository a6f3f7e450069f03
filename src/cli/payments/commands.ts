import type { Command } from 'commander';
import type { CommandContext } from '../command-context.ts';
import { addExamples } from '../examples.ts';
import { addExportCommand } from './export-command.ts';
import { addListCommand, addShowCommand } from './list-command.ts';
import { addReconcileCommand } from './reconcile-command.ts';
import { addRefundCommand } from './refund-command.ts';
import { addCancelRefundCommand, addRefundsCommand } from './refunds-commands.ts';
import { addSumsCommand } from './sums-command.ts';

/** Adds `payments list`, `show`, `sums`, `export`, `reconcile`, `refund`, `refunds` and `cancel-refund`. */
export const addPaymentCommands = (program: Command, context: CommandContext): void => {
  const payments = program
    .command('payments')
    .summary('look at x402 payments, sum them up, reconcile and refund them')
    .description(
      'Lists, shows and sums up what buyers paid by x402, asks the chains what became of it, and sends money back. A ' +
        'payment is named by its identity, by its transaction, or by the beginning of either.',
    );
  addExamples(payments, [
    'causeway payments list --stuck',
    'causeway payments sums',
    'causeway payments refund 0x5f3c9a1e --amount 0.05 --yes',
  ]);
  addListCommand(payments, context);
  addShowCommand(payments, context);
  addSumsCommand(payments, context);
  addExportCommand(payments, context);
  addReconcileCommand(payments, context);
  addRefundCommand(payments, context);
  addRefundsCommand(payments, context);
  addCancelRefundCommand(payments, context);
};
