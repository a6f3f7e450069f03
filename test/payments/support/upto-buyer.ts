import { x402Client, x402HTTPClient } from '@x402/core/client';
import { toClientEvmSigner } from '@x402/evm';
import { ExactEvmScheme } from '@x402/evm/exact/client';
import { UptoEvmScheme } from '@x402/evm/upto/client';
import { createPublicClient, createWalletClient, http, parseAbi, type Address } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { baseSepolia } from 'viem/chains';
import type { Challenge } from '../../../src/payments/wire/challenge.ts';
import type { Proofs } from '../../../src/payments/wire/parse-proof.ts';
import type { BaseChain } from '../../chains/base-chain.ts';

export interface UptoBuyer {
  address: Address;
  /** The headers that the stock client answers a 402 with. */
  prove(challenge: Challenge): Promise<Proofs>;
  /** Sends a transaction to the token, with gas that it is given for that; waits for the block. */
  callToken(functionName: 'approve' | 'transfer', args: [address: Address, amount: bigint]): Promise<void>;
}

const abi = parseAbi([
  'function approve(address spender, uint256 amount) returns (bool)',
  'function transfer(address to, uint256 value) returns (bool)',
]);

/** A stock client with a new wallet, so much USDC, and no coin of the chain. It takes the first terms that it knows. */
export const createUptoBuyer = async (base: BaseChain, amount: bigint): Promise<UptoBuyer> => {
  const account = privateKeyToAccount(generatePrivateKey());
  if (amount > 0n) await base.mint(account.address, amount);
  const options = {
    chain: baseSepolia,
    transport: http(base.rpcUrl, { retryCount: 0 }),
    pollingInterval: 20,
  };
  const reader = createPublicClient(options);
  const client = new x402HTTPClient(
    new x402Client()
      .register(base.network, new UptoEvmScheme(toClientEvmSigner(account, reader)))
      .register(base.network, new ExactEvmScheme(account))
      .setSpendControls({ maxAmountPerPayment: '$10' }),
  );
  return {
    address: account.address,
    callToken: async (functionName, args) => {
      await base.controls.setBalance(account.address, 10n ** 18n);
      const wallet = createWalletClient({ ...options, account });
      const hash = await wallet.writeContract({ address: base.usdc, abi, functionName, args });
      await reader.waitForTransactionReceipt({ hash });
    },
    prove: async (challenge) => {
      const required = client.getPaymentRequiredResponse(
        (name) => (name.toLowerCase() === 'payment-required' ? challenge.header : null),
        challenge.body,
      );
      const headers = client.encodePaymentSignatureHeader(await client.createPaymentPayload(required));
      return { paymentSignature: headers['PAYMENT-SIGNATURE'] };
    },
  };
};
