import { Argument } from 'commander';
import { getPayment } from '../../operator/payments/get-payment.ts';
import { openTokenTexts } from '../../operator/payments/token-texts.ts';
import type { CommandDefinition } from '../command-definition.ts';
import { formatTable } from '../format-table.ts';
import { amountOf, refundTable } from './tables.ts';

export const showCommand: CommandDefinition<[string]> = {
  name: 'show',
  summary: 'show a payment, its story and its refunds',
  description:
    'Shows a payment without its proof and the sold answer, tells how far it got and what can be done, and lists its ' +
    'refunds.',
  examples: ['causeway payments show 0x5f3c9a1e', 'causeway payments show 0x5f3c9a1e --json | jq .advice'],
  arguments: [
    new Argument(
      '<payment>',
      'its identity, its transaction, or the beginning of either, as "payments list" shows it',
    ),
  ],
  run: async (session, given) => {
    const shown = await session.operate(getPayment, { payment: given });
    const { refunds, happened, advice } = shown;
    const { terms: _terms, result_bytes: bytes, ...facts } = shown.payment;
    const tokens = await openTokenTexts(session);
    const rows = Object.entries({
      ...facts,
      amount: amountOf(facts, tokens),
      stored_answer: bytes && `${bytes} bytes`,
    });
    return {
      json: shown,
      text: [
        formatTable(
          { FIELD: 'field', VALUE: 'value' },
          rows.map(([name, value]) => ({ field: name.replaceAll('_', ' '), value })),
        ),
        `${happened}\n${advice}`,
        refunds.length === 0 ? 'It has no refunds.' : refundTable(refunds, tokens),
      ].join('\n\n'),
    };
  },
};
