import type { Command } from 'commander';
import { newId } from '../ids.ts';
import { silentLog } from '../log.ts';
import { assignWallets } from '../payments/generated-wallet.ts';
import { createX402Gate, type X402Gate } from '../purchases/x402-gate.ts';
import type { Payment } from '../store/store.ts';
import type { Answer, CommandContext, Session } from './command-context.ts';
import { CommandError } from './command-error.ts';
import { addExamples } from './examples.ts';
import { requirePayment } from './payment-find.ts';
import { readCount } from './read-text.ts';

const maxLimit = 10_000;
const mostCounted = 1_000;

/** A gate as the gateway has it, that takes no payments. */
const openGate = async ({ store, clock, config: readConfig }: Session) => {
  const config = await readConfig();
  const { networks } = await assignWallets({ networks: config.x402.networks, dataDir: config.dataDir });
  return createX402Gate({
    store,
    networks,
    publicUrl: () => config.publicUrl ?? `http://${config.host}:${config.port}`,
    clock,
    log: silentLog,
    owner: `operator/${newId()}`,
    pricing: config.search.pricing,
  });
};

const lookAtOne = async (
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
  };
};

/** Adds `payments reconcile`. */
export const addReconcileCommand = (payments: Command, context: CommandContext): void => {
  const reconcile = payments
    .command('reconcile')
    .summary('ask the chains now what became of open payments')
    .description(
      'Does once and at once what the gateway does by itself all the time: asks the chains what became of payments, ' +
        'also of those whose next look is not due yet. The settings of the gateway are read, its keys included. The ' +
        'gateway may run meanwhile.',
    )
    .argument('[payment]', 'only this one: its identity, its transaction, or the beginning of either')
    .option('--transaction <id>', 'where you have seen that payment on its chain, which is then asked for it')
    .option('--limit <count>', 'look at so many at most', readCount(maxLimit), 1_000)
    .action((given: string | undefined, { limit, transaction }: { limit: number; transaction?: string }) =>
      context.run(async (session) => {
        const only = given === undefined ? null : await requirePayment(session.store, given);
        if (only === null && transaction !== undefined)
          throw new CommandError('invalid_usage', '--transaction goes with a payment: name it before.');
        const gate = await openGate(session);
        try {
          if (only !== null) return await lookAtOne(gate, only, transaction ?? null);
          const { examined, resolved } = await gate.reconcile({ limit, isEager: true });
          const open = await session.store.listPayments({
            states: ['unknown', 'broadcasting', 'produced'],
            limit: mostCounted,
          });
          const left = open.length < mostCounted ? String(open.length) : `${mostCounted} or more`;
          return {
            json: { examined, resolved, left: open.length },
            text: `Looked at ${examined} payments; ${resolved} need no further look. ${left} have no end yet.`,
            ...(open.length > 0 ? { remark: 'See them: causeway payments list --stuck' } : {}),
          };
        } finally {
          await gate.close();
        }
      }),
    );
  addExamples(reconcile, [
    'causeway payments reconcile',
    'causeway payments reconcile 0x5f3c9a1e --transaction 0x0d2e...77',
    'causeway payments reconcile --json | jq .left',
  ]);
};
