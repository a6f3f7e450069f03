import type { CommandGroup } from '../command-definition.ts';
import { boughtCommand } from './bought-command.ts';
import { exportCommand } from './export-command.ts';
import { listCommand } from './list-command.ts';
import { reconcileCommand } from './reconcile-command.ts';
import { refundCommand } from './refund-command.ts';
import { cancelRefundCommand, refundsCommand } from './refunds-commands.ts';
import { showCommand } from './show-command.ts';
import { sumsCommand } from './sums-command.ts';

export const paymentCommands: CommandGroup = {
  name: 'payments',
  summary: 'list, sum up, reconcile and refund x402 payments',
  description:
    'Lists, shows and sums up x402 payments, asks the chains for their outcome, and refunds them. A payment is named by ' +
    'its identity, its transaction, or the beginning of either.',
  commands: [
    listCommand,
    showCommand,
    sumsCommand,
    exportCommand,
    reconcileCommand,
    refundCommand,
    refundsCommand,
    cancelRefundCommand,
    boughtCommand,
  ],
};
