import { useEffect, useRef } from 'preact/hooks';

interface ConfirmProps {
  /** Says in words what will happen. */
  question: string;
  yes: string;
  onYes(): void;
  onNo(): void;
}

/** Asks once more before a change that cannot be undone, or that moves money. */
export const Confirm = ({ question, yes, onYes, onNo }: ConfirmProps) => {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} aria-label={yes} onClose={onNo}>
      <p>{question}</p>
      <div class="row">
        <button
          type="button"
          class="main"
          onClick={() => {
            dialog.current?.close();
            onYes();
          }}
        >
          {yes}
        </button>
        <button type="button" onClick={() => dialog.current?.close()}>
          Cancel
        </button>
      </div>
    </dialog>
  );
};
