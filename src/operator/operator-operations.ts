import { forgetPeople } from './leads/forget-people.ts';
import { getLeadStats } from './leads/get-lead-stats.ts';
import { importLeads } from './leads/import-leads.ts';
import { restorePeople } from './leads/restore-people.ts';
import { getPayment } from './payments/get-payment.ts';
import { listBought } from './payments/list-bought.ts';
import { listPayments } from './payments/list-payments.ts';
import { reconcilePayment } from './payments/reconcile-payment.ts';
import { reconcilePayments } from './payments/reconcile-payments.ts';
import { sumPayments } from './payments/sum-payments.ts';
import { listProviders } from './providers/list-providers.ts';
import { cancelRefund } from './payments/cancel-refund.ts';
import { listRefunds } from './payments/list-refunds.ts';
import { previewRefund } from './payments/preview-refund.ts';
import { sendRefund } from './payments/send-refund.ts';
import { getSettings } from './settings/get-settings.ts';
import { getAccountTerms, setAccountTerms } from './accounts/account-terms.ts';
import { approveAccount, suspendAccount } from './accounts/change-status.ts';
import { createAccount } from './accounts/create-account.ts';
import { getAccount } from './accounts/get-account.ts';
import { listAccounts } from './accounts/list-accounts.ts';
import { listAudit } from './audit/list-audit.ts';
import { adjustAccount } from './money/adjust-account.ts';
import { checkLedger } from './money/check-ledger.ts';
import { creditAccount } from './money/credit-account.ts';
import { getUsage } from './money/get-usage.ts';
import { listTransactions } from './money/list-transactions.ts';
import { refundJob } from './money/refund-job.ts';
import { changeKey } from './keys/change-key.ts';
import { issueKey } from './keys/issue-key.ts';
import { listKeys } from './keys/list-keys.ts';
import { revokeKey } from './keys/revoke-key.ts';
import type { OperatorOperation } from './operator-operation.ts';
import { getWebhook } from './webhooks/get-webhook.ts';
import { listWebhooks } from './webhooks/list-webhooks.ts';
import { redeliverWebhook } from './webhooks/redeliver-webhook.ts';
import { rotateWebhookSecret } from './webhooks/rotate-webhook-secret.ts';

/** All operations of operators, in the order of their description. */
export const operatorOperations: readonly OperatorOperation[] = [
  listAccounts,
  getAccount,
  createAccount,
  approveAccount,
  suspendAccount,
  getAccountTerms,
  setAccountTerms,
  listKeys,
  issueKey,
  changeKey,
  revokeKey,
  creditAccount,
  adjustAccount,
  refundJob,
  listTransactions,
  getUsage,
  checkLedger,
  listPayments,
  getPayment,
  sumPayments,
  listBought,
  reconcilePayments,
  reconcilePayment,
  listRefunds,
  previewRefund,
  sendRefund,
  cancelRefund,
  getLeadStats,
  importLeads,
  forgetPeople,
  restorePeople,
  listProviders,
  getSettings,
  listWebhooks,
  getWebhook,
  redeliverWebhook,
  rotateWebhookSecret,
  listAudit,
];
