import { paymentField } from '../../operator/payments/payment-view.ts';
import { reconcilePayment, reconcilePayments } from '../../operator/payments/reconcile.ts';
import { formatTable } from '../../operator/view.ts';
import { networkFamilies } from '../../payments/chains/families.ts';
import { isOpenPayment } from '../../payments/sale/reconcile-payments.ts';
import type { Answer, StoreSession } from '../command.ts';
import { CommandError } from '../command-error.ts';
import { toCommand } from '../form-command.ts';

const checkAll = async ({ operate, config }: StoreSession, limit?: number): Promise<Answer> => {
  const checked = await operate(reconcilePayments, { limit });
  const { examined, resolved, left, in_progress: inProgress, not_configured: notConfigured } = checked;
  const openRefunds = checked.refunds.filter(({ outcome }) => outcome === 'open' || outcome === 'landed');
  const isOpen = left > 0 || openRefunds.some(({ outcome }) => outcome === 'open');
  const rows = [
    ...checked.open,
    ...openRefunds.map(({ refund, outcome, reason }) => ({
      payment: `refund ${refund}`,
      state: outcome,
      reason,
    })),
  ];
  const withoutNode = (await config()).x402.networks.filter(({ facilitator }) => facilitator.rpcUrl === null);
  const counts = Object.entries(notConfigured).map(([network, count]) => `${count} on ${network}`);
  const lines = (...texts: (string | false)[]): string => texts.filter((text) => text !== false).join('\n');
  return {
    json: checked,
    text: lines(
      `Checked ${examined} payments: ${resolved} have ended, and ${left} are still open.`,
      checked.refunds.length > 0 &&
        `Checked ${checked.refunds.length} refunds: ${checked.refunds.length - openRefunds.length} have ended, and ${openRefunds.length} are still open.`,
      rows.length > 0 && formatTable('payment=PAYMENT_OR_REFUND state reason', rows),
    ),
    remark:
      lines(
        inProgress > 0 && `The gateway works on ${inProgress} more payments, which were left alone.`,
        counts.length > 0 &&
          `Left alone, as X402_NETWORKS does not name their networks: ${counts.join(', ')}.`,
        isOpen &&
          withoutNode.length > 0 &&
          `No RPC is configured for ${withoutNode.map(({ network }) => network).join(', ')}, so public nodes were asked: ` +
            `set ${networkFamilies.map(({ settingPrefix }) => `${settingPrefix}_RPC_URL`).join(' or ')}, or rpc_url in causeway.yaml.`,
        isOpen && 'To see what can be done: causeway payments show PAYMENT',
      ) || undefined,
    exitCode: isOpen ? 1 : 0,
  };
};

const checkOne = async (
  { operate }: StoreSession,
  payment: string,
  transaction?: string,
): Promise<Answer> => {
  const checked = await operate(reconcilePayment, { payment, transaction });
  const { state, reason } = checked;
  return {
    json: checked,
    text: `The payment is ${state}${reason === null ? '' : ` (${reason})`}.`,
    exitCode: isOpenPayment(checked) ? 1 : 0,
  };
};

export const reconcileCommand = toCommand({
  usage: 'payments reconcile [payment] [--transaction <id>] [--limit <count>]',
  title: reconcilePayments.title,
  description: reconcilePayments.description,
  more:
    'With a payment, only this one is checked. The gateway does the same by itself from time to time, and may run ' +
    'meanwhile. The command reads the settings of the gateway, its keys included. The exit code is 1 if a checked payment ' +
    'or refund is still open.',
  fields: { ...reconcilePayments.fields, ...reconcilePayment.fields, payment: paymentField.optional() },
  example: {},
  examples: ['0x5f3c9a1e --transaction 0x0d2e...77', '--json | jq .left'],
  run: async ({ openStore }, { payment, transaction, limit }) => {
    const session = await openStore();
    if (payment !== undefined) return checkOne(session, payment, transaction);
    if (transaction !== undefined)
      throw new CommandError('invalid_usage', '--transaction needs a payment: name it first.');
    return checkAll(session, limit);
  },
});
