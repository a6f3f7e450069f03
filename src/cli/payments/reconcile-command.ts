import type { Command } from 'commander';
import { networkFamilies } from '../../payments/families.ts';
import { createRefundUpkeep, type RefundLook } from '../../purchases/refunds/refund-upkeep.ts';
import type { X402Gate } from '../../purchases/x402/x402-gate.ts';
import type { Payment } from '../../store/store.ts';
import type { Answer, CommandContext, Session } from '../command-context.ts';
import { CommandError } from '../command-error.ts';
import { addExamples } from '../examples.ts';
import { formatTable } from '../format-table.ts';
import { requirePayment } from './find.ts';
import { openLookingGate, readNetworks, type Networks } from './looking-gate.ts';
import { lookAtOpenPayments, withoutEnd, type OpenLooks } from './open-looks.ts';
import { refundNotPossible } from './refund-refusals.ts';
import { readCount } from '../read-text.ts';

const maxLimit = 10_000;

/** What is left of a look, in whole sentences for people. */
const remarkOf = (
  { inProgress, notConfigured }: OpenLooks,
  networks: Networks,
  isOpen: boolean,
): { remark?: string } => {
  const withoutNode = networks.filter(({ facilitator }) => facilitator.rpcUrl === null);
  const lines = [
    ...(inProgress > 0 ? [`The gateway works on ${inProgress} more; they were left alone.`] : []),
    ...(notConfigured.size > 0
      ? [
          `Left alone, as X402_NETWORKS does not name their networks: ${[...notConfigured]
            .map(([network, count]) => `${count} on ${network}`)
            .join(', ')}.`,
        ]
      : []),
    ...(isOpen && withoutNode.length > 0
      ? [
          `No RPC is configured for ${withoutNode.map(({ network }) => network).join(', ')}, so public nodes were asked: ` +
            `set ${networkFamilies.map(({ settingPrefix }) => `${settingPrefix}_RPC_URL`).join(' or ')}, or rpc_url in causeway.yaml.`,
        ]
      : []),
    ...(isOpen ? ['See what can be done: causeway payments show PAYMENT'] : []),
  ];
  return lines.length === 0 ? {} : { remark: lines.join('\n') };
};

const paymentRow = ({ identity, state, reason }: Payment): string[] => [identity, state, reason ?? '-'];
const refundRow = ({ refund, outcome, reason }: RefundLook): string[] => [
  `refund ${refund.id}`,
  outcome,
  reason ?? '-',
];

const lookAtAll = async (session: Session, limit: number): Promise<Answer> => {
  const networks = await readNetworks(session);
  const gate = await openLookingGate(session, networks);
  try {
    const looks = await lookAtOpenPayments({ store: session.store, gate, networks, limit });
    const refunds = await createRefundUpkeep({ ...session, networks })({
      limit,
      signal: new AbortController().signal,
    });
    const openRefunds = refunds.filter(({ outcome }) => outcome === 'open' || outcome === 'landed');
    const isOpen = looks.open.length > 0 || openRefunds.some(({ outcome }) => outcome === 'open');
    const resolved = looks.examined - looks.open.length;
    return {
      json: {
        examined: looks.examined,
        resolved,
        left: looks.open.length,
        in_progress: looks.inProgress,
        not_configured: Object.fromEntries(looks.notConfigured),
        open: looks.open.map(({ identity, state, reason }) => ({ payment: identity, state, reason })),
        refunds: refunds.map(({ refund, outcome, reason }) => ({ refund: refund.id, outcome, reason })),
      },
      text: [
        `Looked at ${looks.examined} payments; ${resolved} have ended, and ${looks.open.length} have no end yet.`,
        ...(refunds.length > 0
          ? [
              `Looked at ${refunds.length} refunds; ${refunds.length - openRefunds.length} have ended, and ${openRefunds.length} have no end yet.`,
            ]
          : []),
        ...(looks.open.length + openRefunds.length > 0
          ? [
              formatTable(
                [{ title: 'PAYMENT OR REFUND' }, { title: 'STATE' }, { title: 'REASON' }],
                [...looks.open.map(paymentRow), ...openRefunds.map(refundRow)],
              ),
            ]
          : []),
      ].join('\n'),
      ...remarkOf(looks, networks, isOpen),
      exitCode: isOpen ? 1 : 0,
    };
  } finally {
    await gate.close();
  }
};

const tellOne = async (
  gate: X402Gate,
  { identity }: Payment,
  transaction: string | null,
): Promise<Answer> => {
  const payment = await gate.reconcileOne({ identity, transaction });
  if (payment === null)
    throw new CommandError(
      'payment_in_progress',
      'The gateway works on this payment. Try again in a minute.',
    );
  const { state, reason } = payment;
  return {
    json: { payment: identity, state, reason, transaction: payment.transaction },
    text: `The payment is ${state}${reason === null ? '' : ` (${reason})`}.`,
    exitCode: withoutEnd.includes(state) ? 1 : 0,
  };
};

const lookAtOne = async (session: Session, payment: Payment, transaction: string | null): Promise<Answer> => {
  const networks = await readNetworks(session);
  if (!networks.some(({ network }) => network === payment.network))
    throw refundNotPossible('not_configured', payment);
  const gate = await openLookingGate(session, networks);
  try {
    return await tellOne(gate, payment, transaction);
  } finally {
    await gate.close();
  }
};

/** Adds `payments reconcile`. */
export const addReconcileCommand = (payments: Command, context: CommandContext): void => {
  const reconcile = payments
    .command('reconcile')
    .summary('ask the chains now what became of open payments and refunds')
    .description(
      'Does once and at once what the gateway does by itself all the time: asks the chains what became of payments ' +
        'without an end, also of those whose next look is not due yet, and of refunds that were sent. It sends nothing, ' +
        'and leaves payments alone whose network is not configured. The settings of the gateway are read, its keys ' +
        'included. The gateway may run meanwhile. Ends with 1 when something that was looked at has no end yet.',
    )
    .argument('[payment]', 'only this one: its identity, its transaction, or the beginning of either')
    .option('--transaction <id>', 'where you have seen that payment on its chain, which is then asked for it')
    .option('--limit <count>', 'look at so many at most', readCount(maxLimit), 1_000)
    .action((given: string | undefined, { limit, transaction }: { limit: number; transaction?: string }) =>
      context.run(async (session) => {
        if (given !== undefined)
          return lookAtOne(session, await requirePayment(session.store, given), transaction ?? null);
        if (transaction !== undefined)
          throw new CommandError('invalid_usage', '--transaction goes with a payment: name it before.');
        return lookAtAll(session, limit);
      }),
    );
  addExamples(reconcile, [
    'causeway payments reconcile',
    'causeway payments reconcile 0x5f3c9a1e --transaction 0x0d2e...77',
    'causeway payments reconcile --json | jq .left',
  ]);
};
