import { getAccountTerms, setAccountTerms } from './account-terms.ts';
import { approveAccount, createAccount, getAccount, listAccounts, suspendAccount } from './accounts.ts';
import { listAudit } from './audit.ts';
import { getSettings, listProviders } from './gateway.ts';
import { changeKey, issueKey, listKeys, revokeKey } from './keys.ts';
import { importLeads } from './leads/import-leads.ts';
import { forgetPeople, getLeadStats, restorePeople } from './leads/leads.ts';
import { adjustAccount, checkLedger, creditAccount, getUsage, listTransactions, refundJob } from './money.ts';
import type { OperatorOperation } from './operator-operation.ts';
import { listBought } from './payments/bought-payments.ts';
import { getPayment, listPayments } from './payments/payments.ts';
import { reconcilePayment, reconcilePayments } from './payments/reconcile.ts';
import { cancelRefund, listRefunds, previewRefund, sendRefund } from './payments/refunds.ts';
import { sumPayments } from './payments/sum-payments.ts';
import { getWebhook, listWebhooks, redeliverWebhook, rotateWebhookSecret } from './webhooks.ts';

/** All operations below /admin/v1, in the order of their description and of the help of the command line. */
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
