import type { Command } from 'commander';
import type { CommandContext } from '../command-context.ts';
import { addExamples } from '../examples.ts';
import { addExportCommand } from './export-command.ts';
import { addListCommand } from './list-command.ts';
import { addReconcileCommand } from './reconcile-command.ts';
import { addRefundCommand } from './refund-command.ts';
import { addCancelRefundCommand, addRefundsCommand } from './refunds-commands.ts';
import { addShowCommand } from './show-command.ts';
import { addSumsCommand } from './sums-command.ts';

/** Adds `payments list`, `show`, `sums`, `export`, `reconcile`, `refund`, `refunds` and `cancel-refund`. */
export const addPaymentCommands = (program: Command, context: CommandContext): void => {
  const payments = program
    .command('payments')
    .summary('list, sum up, reconcile and refund x402 payments')
    .description(
      'Lists, shows and sums up x402 payments, asks the chains for their outcome, and refunds them. A payment is named ' +
        'by its identity, its transaction, or the beginning of either.',
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
