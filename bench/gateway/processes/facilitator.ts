import { toFacilitatorEvmSigner } from '@x402/evm';
import { ExactEvmScheme } from '@x402/evm/exact/facilitator';
import type { PaymentPayload } from '@x402/core/types';
import { createWalletClient, http, publicActions, type Hex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { baseSepolia } from 'viem/chains';

/* The x402 package alone: verifies and settles payments, one after the other. */
export interface FacilitatorTask {
  rpcUrl: string;
  privateKey: Hex;
  payloads: PaymentPayload[];
}

type EvmSignerClient = Parameters<typeof toFacilitatorEvmSigner>[0];

const settleAll = async ({ rpcUrl, privateKey, payloads }: FacilitatorTask): Promise<number> => {
  const account = privateKeyToAccount(privateKey);
  const transport = http(rpcUrl);
  // The gateway looks for the receipt after as long.
  const client = createWalletClient({ account, chain: baseSepolia, transport, pollingInterval: 50 }).extend(
    publicActions,
  );
  const scheme = new ExactEvmScheme(
    toFacilitatorEvmSigner({ ...client, address: account.address } as unknown as EvmSignerClient),
  );
  for (const payload of payloads) {
    const verified = await scheme.verify(payload, payload.accepted);
    const settled = verified.isValid ? await scheme.settle(payload, payload.accepted) : null;
    if (settled?.success !== true)
      throw new Error(`The payment failed: ${JSON.stringify({ verified, settled })}`);
  }
  return payloads.length;
};

process.on('message', (task: FacilitatorTask) => {
  settleAll(task).then(
    (count) => process.send?.(count),
    (error: unknown) => {
      process.stderr.write(`${String(error)}\n`);
      process.exit(1);
    },
  );
});
process.on('disconnect', () => process.exit());
