import { Argument, Option } from 'commander';
import type { Config } from '../../config/config.ts';
import { newId } from '../../kit/ids.ts';
import { silentLog } from '../../kit/log.ts';
import { configuredNetwork } from '../../payments/networks.ts';
import { networkFamilies } from '../../payments/families.ts';
import { createRefundUpkeep } from '../../purchases/refunds/refund-upkeep.ts';
import { createX402Gate, type X402Gate } from '../../purchases/x402/x402-gate.ts';
import type { Payment, PaymentState } from '../../store/store.ts';
import type { Answer, Session } from '../command-context.ts';
import { limitOption, type CommandDefinition } from '../command-definition.ts';
import { CommandError } from '../command-error.ts';
import { formatTable } from '../format-table.ts';
import { refundNotPossible } from './refund-context.ts';
import { readPayments, requirePayment } from './views.ts';

type Networks = Config['x402']['networks'];

/** Each check waits for a chain. */
const concurrency = 8;

const openStates: readonly PaymentState[] = ['reserved', 'verified', 'produced', 'broadcasting', 'unknown'];

/**
 * Runs `work` with a gate that checks payments and takes none. New payments need a recipient, so the address of the token
 * stands for a wallet that is not configured, and no wallet is created.
 */
const withGate = async (
  { store, clock, config: loadConfig }: Session,
  work: (gate: X402Gate, networks: Networks) => Promise<Answer>,
): Promise<Answer> => {
  const config = await loadConfig();
  const { networks } = config.x402;
  const gate = createX402Gate({
    store,
    networks: networks.map((network) => ({
      ...network,
      payTo: network.payTo ?? configuredNetwork(network.network, network.asset).asset.address,
    })),
    publicUrl: () => config.publicUrl ?? `http://${config.host}:${config.port}`,
    clock,
    log: silentLog,
    owner: `operator/${newId()}`,
    sales: [],
  });
  try {
    return await work(gate, networks);
  } finally {
    await gate.close();
  }
};

interface Checked {
  examined: number;
  /** Examined payments that are still open. */
  open: Payment[];
  /** The number of payments left alone, as a process works on them. */
  inProgress: number;
  /** The number of payments left alone, by networks that are not configured. */
  notConfigured: Map<string, number>;
}

/** Checks at most `limit` open payments, newest first. Throws the error of a check after the other checks. */
const checkPayments = async (
  { store }: Session,
  { gate, networks, limit }: { gate: X402Gate; networks: Networks; limit: number },
): Promise<Checked> => {
  const checked: Checked = { examined: 0, open: [], inProgress: 0, notConfigured: new Map() };
  const { notConfigured } = checked;
  const configured = new Set(networks.map(({ network }) => network));
  const queue: string[] = [];
  for await (const { identity, network } of readPayments(store, { states: openStates })) {
    if (!configured.has(network)) notConfigured.set(network, (notConfigured.get(network) ?? 0) + 1);
    else if (queue.length < limit) queue.push(identity);
    else break;
  }
  const check = async (identity: string): Promise<void> => {
    const payment = await gate.reconcileOne({ identity, transaction: null });
    if (payment === null) checked.inProgress += 1;
    else checked.examined += 1;
    if (payment !== null && openStates.includes(payment.state)) checked.open.push(payment);
  };
  const errors: unknown[] = [];
  const work = async (): Promise<void> => {
    for (let identity = queue.shift(); identity !== undefined; identity = queue.shift())
      await check(identity).catch((error: unknown) => errors.push(error));
  };
  await Promise.all(Array.from({ length: concurrency }, work));
  if (errors.length > 0) throw errors[0];
  return checked;
};

const remarkOf = (
  { inProgress, notConfigured }: Checked,
  networks: Networks,
  isOpen: boolean,
): string | undefined => {
  const withoutNode = networks.filter(({ facilitator }) => facilitator.rpcUrl === null);
  const counts = [...notConfigured].map(([network, count]) => `${count} on ${network}`);
  const lines = [
    inProgress > 0 && `The gateway works on ${inProgress} more payments, which were left alone.`,
    counts.length > 0 && `Left alone, as X402_NETWORKS does not name their networks: ${counts.join(', ')}.`,
    isOpen &&
      withoutNode.length > 0 &&
      `No RPC is configured for ${withoutNode.map(({ network }) => network).join(', ')}, so public nodes were asked: ` +
        `set ${networkFamilies.map(({ settingPrefix }) => `${settingPrefix}_RPC_URL`).join(' or ')}, or rpc_url in causeway.yaml.`,
    isOpen && 'To see what can be done: causeway payments show PAYMENT',
  ].filter((line) => line !== false);
  return lines.length === 0 ? undefined : lines.join('\n');
};

const checkAll = (session: Session, limit: number): Promise<Answer> =>
  withGate(session, async (gate, networks) => {
    const checked = await checkPayments(session, { gate, networks, limit });
    const { signal } = new AbortController();
    const upkeep = await createRefundUpkeep({ ...session, networks })({ limit, signal });
    const refunds = upkeep.map(({ refund, outcome, reason }) => ({ refund: refund.id, outcome, reason }));
    const openRefunds = refunds.filter(({ outcome }) => outcome === 'open' || outcome === 'landed');
    const open = checked.open.map(({ identity, state, reason }) => ({ payment: identity, state, reason }));
    const isOpen = open.length > 0 || openRefunds.some(({ outcome }) => outcome === 'open');
    const { examined } = checked;
    const resolved = examined - open.length;
    const rows = [
      ...open,
      ...openRefunds.map(({ refund, outcome, reason }) => ({
        payment: `refund ${refund}`,
        state: outcome,
        reason,
      })),
    ];
    return {
      json: {
        examined,
        resolved,
        left: open.length,
        in_progress: checked.inProgress,
        not_configured: Object.fromEntries(checked.notConfigured),
        open,
        refunds,
      },
      text: [
        `Checked ${examined} payments: ${resolved} have ended, and ${open.length} are still open.`,
        refunds.length > 0 &&
          `Checked ${refunds.length} refunds: ${refunds.length - openRefunds.length} have ended, and ${openRefunds.length} are still open.`,
        rows.length > 0 &&
          formatTable({ 'PAYMENT OR REFUND': 'payment', STATE: 'state', REASON: 'reason' }, rows),
      ]
        .filter((line) => line !== false)
        .join('\n'),
      remark: remarkOf(checked, networks, isOpen),
      exitCode: isOpen ? 1 : 0,
    };
  });

const checkOne = (session: Session, payment: Payment, transaction: string | null): Promise<Answer> =>
  withGate(session, async (gate, networks) => {
    if (!networks.some(({ network }) => network === payment.network))
      throw refundNotPossible('not_configured', payment);
    const { identity } = payment;
    const checked = await gate.reconcileOne({ identity, transaction });
    if (checked === null)
      throw new CommandError(
        'payment_in_progress',
        'The gateway works on this payment. Try again in a minute.',
      );
    const { state, reason } = checked;
    return {
      json: { payment: identity, state, reason, transaction: checked.transaction },
      text: `The payment is ${state}${reason === null ? '' : ` (${reason})`}.`,
      exitCode: openStates.includes(state) ? 1 : 0,
    };
  });

export const reconcileCommand: CommandDefinition<
  [string | undefined, { limit: number; transaction?: string }]
> = {
  name: 'reconcile',
  summary: 'ask the chains now for the outcome of open payments and refunds',
  description:
    'Asks the chains now for the outcome of open payments, also before their next check is due, and of sent refunds. ' +
    'The gateway does the same by itself from time to time. The command sends nothing, and leaves payments on networks ' +
    'alone that are not configured. It reads the settings of the gateway, its keys included. The gateway may run ' +
    'meanwhile. The command ends with 1 if a checked payment or refund is still open.',
  examples: [
    'causeway payments reconcile',
    'causeway payments reconcile 0x5f3c9a1e --transaction 0x0d2e...77',
    'causeway payments reconcile --json | jq .left',
  ],
  arguments: [
    new Argument('[payment]', 'only this one: its identity, its transaction, or the beginning of either'),
  ],
  options: [
    new Option('--transaction <id>', 'the transaction of that payment, if you have found it on the chain'),
    limitOption(10_000, 1_000, 'check'),
  ],
  run: async (session, given, { limit, transaction }) => {
    if (given !== undefined)
      return checkOne(session, await requirePayment(session.store, given), transaction ?? null);
    if (transaction !== undefined)
      throw new CommandError('invalid_usage', '--transaction needs a payment: name it first.');
    return checkAll(session, limit);
  },
};
