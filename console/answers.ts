/** The parts of the gateway's answers that the console shows. /openapi.json describes them. */
export interface Totals {
  jobs: { total: number; queued: number; running: number; done: number; failed: number };
  refunded_usd: string;
  net_spent_usd: string;
}

export interface Usage extends Totals {
  by_model: (Totals & { model: string })[];
  by_kind: (Totals & { kind: string })[];
  by_day: (Totals & { day: string })[];
  /** The rest of many keys is one row without an id. */
  by_key: (Totals & { key_id: string | null; label: string })[];
  by_tag: (Totals & { tag: string | null })[];
}

export interface Refusal {
  code: string;
  message: string;
}

export interface JobRow {
  id: string;
  model: string;
  kind: string;
  status: string;
  created_at: string;
  duration_ms: number | null;
  net_spent_usd: string;
  error: Refusal | null;
  /** Only operators see it. */
  account_id?: string;
}

export interface Transaction {
  id: string;
  type: string;
  amount_usd: string;
  created_at: string;
  job_id: string | null;
  model: string | null;
  reason?: string;
}

export interface Key {
  id: string;
  label: string;
  display: string;
  expires_at: string | null;
  revoked_at: string | null;
  models: string[] | null;
  tools: string[] | null;
  budget_day_usd: string | null;
  budget_month_usd: string | null;
  budget_total_usd: string | null;
  day_spent_usd: string | null;
  month_spent_usd: string | null;
  total_spent_usd: string | null;
}

export interface Model {
  id: string;
  kind: string;
}

export interface Account {
  id: string;
  name: string;
  status: string;
  sandbox: boolean;
  balance_usd: string;
  held_usd: string;
  created_at: string;
}

export interface Payment {
  payment: string;
  state: string;
  network: string;
  amount: string | null;
  amount_units: string;
  account_id: string | null;
  job_id: string | null;
  created_at: string;
}
