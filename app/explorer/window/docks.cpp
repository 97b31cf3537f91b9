#include "app/explorer/window/docks.h"

#include <QAction>

namespace rematlas::explorer {

QDockWidget* add_dock(QMainWindow& window, const DockSpec& spec) {
    auto* dock = new QDockWidget(spec.title, &window);
    dock->setObjectName(spec.name);
    dock->setWidget(spec.widget);
    dock->setFeatures(QDockWidget::DockWidgetClosable | QDockWidget::DockWidgetMovable |
                      QDockWidget::DockWidgetFloatable);
    dock->toggleViewAction()->setToolTip(spec.tip);
    window.addDockWidget(spec.area, dock);
    return dock;
}

}  // namespace rematlas::explorer
