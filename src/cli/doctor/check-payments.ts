import { silentLog } from '../../kit/log.ts';
import { createJsonRpc, isNodeTrouble } from '../../payments/chains/core/json-rpc.ts';
import { createPaymentMethods } from '../../payments/chains/payment-methods.ts';
import { configuredNetwork } from '../../payments/chains/networks.ts';
import type { X402NetworkConfig } from '../../payments/x402-settings.ts';
import { judgeClock, listOf, orOk, problem, warning, type Check, type Findings } from './finding.ts';

/** Checks each network: its node, its token, the wallets, and what its facilitators support. Sends no transaction. */
export const checkPayments: Check = async ({ x402 }, signal) =>
  x402.isOn && Promise.all(x402.networks.map((network) => lookAt(network, signal)));

const nodeMs = 5_000;

const lookAt = async (settings: X402NetworkConfig, signal: AbortSignal): Promise<Findings> => {
  const { facilitator, asset } = settings;
  const network = configuredNetwork(settings.network, asset);
  // Without a wallet, the token's address takes its place. The check does not depend on it.
  const payTo = settings.payTo ?? network.asset.address;
  const rpc = createJsonRpc({ url: facilitator.rpcUrl ?? network.publicRpcUrl, timeoutMs: nodeMs });
  const node = { rpc, signal };
  const [found, supported] = await Promise.all([
    lookAtNode({ network, payTo, isOwn: facilitator.rpcUrl !== null }, node),
    lookAtFacilitator({ ...settings, payTo }, signal),
  ]);
  const address = settings.payTo === null ? null : network.family.addressProblem(settings.payTo);
  return orOk(
    [
      found,
      // A wrong node makes a facilitator that asks it fail, too.
      listOf(found).every(({ status }) => status !== 'problem') && supported,
      address !== null &&
        problem(
          `${network.label}: payments go to ${payTo}, which ${address}.`,
          `Correct ${network.family.settingPrefix}_PAY_TO.`,
        ),
    ],
    `${network.label}: the node is current, the token is right, and payments can be settled (${facilitator.kind} facilitator).`,
  );
};

type Network = ReturnType<typeof configuredNetwork>;
type Node = Parameters<Network['family']['readTime']>[0];

/** A node that is this far behind cannot prove what became of a payment. */
const lateMs = 120_000;

const lookAtNode = async (
  { network, payTo, isOwn }: { network: Network; payTo: string; isOwn: boolean },
  node: Node,
): Promise<Findings> => {
  const { family, label } = network;
  const setting = `${family.settingPrefix}_RPC_URL (or rpc_url in causeway.yaml)`;
  try {
    const [faults, time] = await Promise.all([
      family.findFaults({ network, payTo }, node),
      family.readTime(node),
    ]);
    const aheadMs = time - Date.now();
    return [
      faults.map((fault) => problem(`${label}: ${fault}.`, 'Correct the setting that is named.')),
      aheadMs < -lateMs &&
        problem(
          `${label}: the newest block of the node is ${Math.round(-aheadMs / 1_000)} s old.`,
          `Name a node in ${setting} that follows the chain, and check this machine's clock.`,
        ),
      aheadMs > 0 && judgeClock(`the newest block of ${label}`, aheadMs),
    ];
  } catch (error) {
    if (!isNodeTrouble(error)) throw error;
    // Its messages do not carry the address, which may be a secret.
    const message = `${label}: ${isOwn ? 'the node' : 'the public node'} is of no use: ${error.message}.`;
    return isOwn
      ? problem(message, `Correct ${setting}, or start the node.`)
      : warning(message, `Name a node of your own in ${setting}.`);
  }
};

const noLease = { take: async () => ({ isKept: false }), release: async () => undefined };

/** Asks the facilitators what they support, or looks whether the account that settles can pay for it. */
const lookAtFacilitator = async (
  network: X402NetworkConfig & { payTo: string },
  signal: AbortSignal,
): Promise<Findings> => {
  const [method] = createPaymentMethods({
    networks: [network],
    publicUrl: () => '',
    log: silentLog,
    now: Date.now,
    accountLeaseOf: () => noLease,
  });
  if (method === undefined) return false;
  const { ready, detail } = await method.facilitator.refresh(signal);
  const { label, family } = method.network;
  if (ready && detail === null) return false;
  const remedy =
    network.facilitator.kind === 'local'
      ? `Fund the account, or correct ${family.settingPrefix}_FACILITATOR_KEY and ${family.settingPrefix}_RPC_URL.`
      : 'Correct X402_FACILITATOR_URL and its keys, or name another facilitator.';
  return (ready ? warning : problem)(`${label}: ${detail ?? 'payments cannot be settled'}.`, remedy);
};
