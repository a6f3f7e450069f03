import type { Command } from 'commander';
import { newId } from '../ids.ts';
import { silentLog } from '../log.ts';
import { assignWallets } from '../payments/generated-wallet.ts';
import { createX402Gate } from '../purchases/x402-gate.ts';
import type { CommandContext, Session } from './command-context.ts';
import { addExamples } from './examples.ts';
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
    .option('--limit <count>', 'look at so many at most', readCount(maxLimit), 1_000)
    .action(({ limit }: { limit: number }) =>
      context.run(async (session) => {
        const gate = await openGate(session);
        try {
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
  addExamples(reconcile, ['causeway payments reconcile', 'causeway payments reconcile --json | jq .left']);
};
